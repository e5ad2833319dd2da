"""What every stand-in for a host has in common: a test's own says what `reset` and `step` do."""

from __future__ import annotations


class StepHost:
    """A host that steps when it is asked for the result, cannot be saved and has nothing to tell."""

    can_save = False

    def send(self, action):
        self.sent = action

    def is_ready(self):
        return True

    def recv(self):
        return self.step(self.sent)

    def save(self): ...

    def load(self, saved): ...

    def notices(self):
        return []

    def memory_mb(self):
        return 0.0

    def close(self): ...
