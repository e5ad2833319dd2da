"""What `courtside verify` says: each metric in a sentence, and what such a deviation usually means."""

from __future__ import annotations

from courtside.experiments.verify import Report
from courtside.experiments.verify.comparison import MetricResult
from courtside.settings.numbers import count, figure

NAMES = {
    "charts/episodic_return": "episodic return",
    "charts/episodic_length": "episode length",
    "losses/entropy": "entropy",
    "losses/approx_kl": "approximate KL",
    "losses/clipfrac": "clip fraction",
    "losses/explained_variance": "explained variance",
    "losses/value_loss": "value loss",
    "losses/policy_loss": "policy loss",
    "losses/grad_norm": "gradient norm",
    "charts/score": "score of the best agent",
    "losses/critic_loss": "critic loss",
    "losses/actor_loss": "actor loss",
    "losses/value_std": "spread of the predicted value",
    "losses/target_mean": "target of the critic",
    "losses/td_error": "error of the critic",
    "losses/critic_grad_norm": "gradient norm of the critic",
    "losses/actor_grad_norm": "gradient norm of the actor",
    "losses/target_gap": "distance of the target networks",
    "health/mass_first": "probability on the first atom",
    "health/mass_last": "probability on the last atom",
    "health/noise_effect": "effect of the noise",
    "charts/noise_scale": "scale of the noise",
    "replay/age": "age of what is replayed",
}
FAR_AWAY = 10.0
"""Standard errors from which on a deviation is called far."""

HINTS = {
    ("losses/entropy", "below"): "The policy settles too fast: look at the sign and weight of the entropy bonus, "
    "at what limits a step (ratio clip, gradient clip) and at the learning rate.",
    ("losses/entropy", "above"): "The policy hardly settles: look at the sign of the advantage, at what reaches the "
    "network, and at whether gradients arrive.",
    ("losses/approx_kl", "above"): "An update moves the policy too far: look at the ratio clip, the gradient clip (by the "
    "norm of the whole gradient), the learning rate and the number of epochs.",
    ("losses/approx_kl", "below"): "An update hardly moves the policy: look at the scale of the advantages, the gradient "
    "clip and the learning rate.",
    ("losses/clipfrac", "above"): "Too many ratios leave the clip range: look at the surrogate loss and at the old "
    "log-probabilities it is held against.",
    ("losses/clipfrac", "below"): "Hardly a ratio reaches the clip range: look at the scale of the advantages and the "
    "gradient clip.",
    ("losses/explained_variance", "below"): "The critic predicts its targets badly: look at the value targets (which step, "
    "which bootstrap, what happens at an episode's end or a time limit).",
    ("losses/explained_variance", "above"): "The critic predicts its targets better than it can: the targets may have lost "
    "their rewards, or the critic may see what it should not.",
    ("losses/value_loss", "above"): "The value targets are off or on another scale: look at bootstrap, discount, reward "
    "scaling and the half in the squared error.",
    ("losses/value_loss", "below"): "The value targets are smaller than they should be: look at bootstrap, discount and "
    "reward scaling.",
    ("losses/grad_norm", "above"): "Gradients are larger: look at the losses' weights and at what scales rewards and "
    "observations.",
    ("losses/grad_norm", "below"): "Gradients are smaller: look at the losses' weights and at whether a part of the loss "
    "still counts.",
    ("losses/policy_loss", "above"): "The surrogate gains less than it should: look at the sign and the normalisation of "
    "the advantages.",
    ("losses/policy_loss", "below"): "The surrogate gains more than it should: look at the ratio clip and at the "
    "normalisation of the advantages.",
    ("losses/critic_loss", "above"): "The critic fits its targets badly: look at the projection on the atoms, at the discount "
    "of an n-step entry, and at what the critic is shown.",
    ("losses/critic_loss", "below"): "The critic's targets are easier than they should be: look at the rewards of the n-step "
    "entries, at the projection, and at whether the slow copies make the targets.",
    ("losses/actor_loss", "above"): "The actor finds less value than it should: look at which way it climbs, and at whether "
    "its gradient flows through the critic.",
    ("losses/actor_loss", "below"): "The actor finds more value than it should: look at the critic's targets.",
    ("losses/target_mean", "above"): "Targets are too high: look at the bootstrap (a terminal state has none), at the product "
    "of discounts, and at the slow copies.",
    ("losses/target_mean", "below"): "Targets are too low: look at the bootstrap (a time limit has one), at the n-step sums "
    "and at the discount.",
    ("losses/value_std", "above"): "The predicted distribution is too wide: look at the projection and at the atoms.",
    ("losses/value_std", "below"): "The predicted distribution is too narrow: look at the projection and at the targets.",
    ("losses/td_error", "above"): "The critic is further from its targets: look at the targets and at the critic's rate.",
    ("losses/target_gap", "above"): "The slow copies stay behind: look at tau, C and when they move.",
    ("losses/target_gap", "below"): "The slow copies follow too closely: look at tau, C and when they move.",
    ("losses/actor_grad_norm", "above"): "The actor's gradient is larger: look at what reaches it through the critic.",
    ("losses/actor_grad_norm", "below"): "The actor's gradient is smaller: look at whether it still flows through the "
    "critic, and at saturated actions.",
    ("losses/critic_grad_norm", "above"): "The critic's gradient is larger: look at its loss and at what scales observations.",
    ("losses/critic_grad_norm", "below"): "The critic's gradient is smaller: look at its loss and at the weights of entries.",
    ("health/mass_first", "above"): "Targets pile up at vmin: look at the sign of rewards and at the bootstrap.",
    ("health/mass_last", "above"): "Targets pile up at vmax: look at the bootstrap and at the n-step sums.",
    ("health/noise_effect", "above"): "Exploration moves actions further: look at the scale and the kind of the noise.",
    ("health/noise_effect", "below"): "Exploration hardly moves actions: look at the scale of the noise and at what clips.",
    ("charts/noise_scale", "above"): "The noise anneals too late: look at the score that it follows.",
    ("charts/noise_scale", "below"): "The noise anneals too early: look at the score that it follows.",
    ("replay/age", "above"): "What is replayed is older: look at how entries are drawn and which are overwritten.",
    ("replay/age", "below"): "What is replayed is newer: look at how entries are drawn and which are overwritten.",
    ("charts/episodic_return", "below"): "The agent learns more slowly or something else: if the losses are inside their "
    "bands, look at the world, at its observations and at the mapping of actions.",
    ("charts/episodic_return", "above"): "The agent does better than the code that was measured: an improvement, or a "
    "reward that is paid too often.",
}  # fmt: skip


OF_ALL = {
    "broken": "Something became infinite or not a number: look for a division by zero, a logarithm of 0, or a rate that is "
    "too high.",
    "missing": "Something that ended or was logged is no longer: look at the ends of episodes and at the metrics' names.",
}


def name_of(metric: str) -> str:
    """A metric in plain words."""
    if metric.startswith("agents/"):
        return f"return of {metric.split('/')[1]}"
    return NAMES.get(metric, metric)


def sentence(report: Report, result: MetricResult) -> str:
    """One metric in one sentence."""
    name, step = name_of(result.metric), count(report.step(result.point))
    usual = f"{len(report.seeds)} healthy seeds average {figure(result.low)} to {figure(result.high)}"
    match result.direction:
        case "broken":
            return f"{name} is not a finite number at step {step}; {usual}."
        case "missing":
            return f"{name} has no value at step {step}; {usual}."
        case "inside":
            return f"{name} is inside its band (at its furthest {figure(result.value)} at step {step}; {usual})."
        case _:
            far = "far " if result.distance >= FAR_AWAY else ""
            how = "" if is_beyond(result) else ", by a little at many points rather than by much at one"
            return f"{name} is {figure(result.value)} at step {step}; {usual}: {far}{result.direction}{how}."


def is_beyond(result: MetricResult) -> bool:
    """Whether the point that is shown is outside by itself; else it is the average over all points that was."""
    return not result.low <= result.value <= result.high


def hints(report: Report) -> list[str]:
    """What the deviations usually mean, the strangest metric first."""
    strange = sorted((r for r in report.results if not r.passed), key=lambda r: -r.distance)
    words = []
    for result in strange:
        is_return = result.metric.startswith("agents/") or result.metric == "charts/score"
        metric = "charts/episodic_return" if is_return else result.metric
        words.append(OF_ALL.get(result.direction) or HINTS.get((metric, result.direction), ""))
    return [hint for hint in dict.fromkeys(words) if hint][:3]


def table(report: Report) -> list[str]:
    """Metric by metric: here, the band, and how that looks; each where it is furthest from its band."""
    rows = [("metric", "step", "here", "the band", "")]
    for result in report.results:
        band = f"{figure(result.low)} to {figure(result.high)}"
        far = "FAR " if result.distance >= FAR_AWAY and result.direction in ("above", "below") else ""
        rows.append((
            name_of(result.metric), count(report.step(result.point)), figure(result.value), band,
            "inside" if result.passed else f"{far}{result.direction.upper()}",
        ))  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}".rstrip()
        for row in rows
    ]


def describe(report: Report) -> list[str]:
    """The whole report for people."""
    outside = [result for result in report.results if not result.passed]
    steps = count(report.num_updates * report.batch_size)
    lines = [
        f"{report.preset}: {len(report.seeds)} fresh seeds x {steps} steps in {report.seconds:.0f} s, "
        f"held against {report.num_band_seeds} seeds of the measured code",
        *(f"  {line}" for line in table(report)),
    ]
    if not outside:
        return [*lines, f"PASS: all {len(report.results)} metrics are inside the band of {report.preset}."]
    lines += [f"  {sentence(report, result)}" for result in outside]
    lines.append(f"FAIL: {len(outside)} of {len(report.results)} metrics are outside the band of {report.preset}.")
    return [*lines, *(f"hint: {hint}" for hint in hints(report))]
