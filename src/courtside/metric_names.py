"""What the name of a metric tells about it. docs/metrics.md explains each."""

from __future__ import annotations

PER_EPISODE = ("charts/episodic_", "charts/truncated", "agents/", "env/")
"""How the names begin of metrics that are means over the episodes which ended in an update."""


def is_per_episode(metric: str) -> bool:
    """Whether a metric has no value in an update without an episode's end, and weighs as many as ended."""
    return metric.startswith(PER_EPISODE)
