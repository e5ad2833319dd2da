"""How all workers of a crew begin a step at once, and how the trainer hears that the last of them is done.

To wake sixteen workers one by one, and to be woken by each of them, can take as long as the step itself. Here bytes in
pipes are tickets. The trainer puts one start ticket for each worker into a pipe with a single call, and each takes one.
Two such pipes take turns, so that a quick worker, already waiting for the next round, cannot take what is meant for a slow
one. There is one done ticket fewer than there are workers: whoever is done takes one, and who finds none left is the last
and tells the trainer. No JAX here.
"""

from __future__ import annotations

import os
import select
from typing import Any, NamedTuple


class Ends(NamedTuple):
    """The workers' ends of the pipes, as file descriptors."""

    even: int
    odd: int
    """Start tickets of rounds with an even and an odd number."""
    tickets: int
    """Done tickets."""
    last: int
    """Where the last one of a round tells that it was the last."""


class Rounds:
    """The trainer's side."""

    def __init__(self, num_workers: int) -> None:
        self.number, self._count = 0, num_workers
        """Of the next round."""
        self._starts = os.pipe(), os.pipe()
        self._tickets, self._last = os.pipe(), os.pipe()
        os.set_blocking(self._tickets[0], False)
        self.ends = Ends(self._starts[0][0], self._starts[1][0], self._tickets[0], self._last[1])
        self.is_over: int = self._last[0]
        """File descriptor that can be read once a round is over."""

    def begin(self) -> None:
        """Let every worker take a step."""
        _, start = self._starts[self.number % 2]
        self.number += 1
        os.write(self._tickets[1], b"t" * (self._count - 1))
        os.write(start, b"s" * self._count)

    def finish(self) -> None:
        """Take note that the round is over."""
        os.read(self.is_over, 1)

    def clear(self) -> None:
        """Throw away what workers that are gone have left; no other worker may be in a round."""
        for descriptor in (*(start for start, _ in self._starts), self._tickets[0], self.is_over):
            while select.select([descriptor], [], [], 0)[0]:
                os.read(descriptor, 4096)

    def close(self) -> None:
        for pipe in (*self._starts, self._tickets, self._last):
            for descriptor in pipe:
                os.close(descriptor)


class Attendance:
    """A worker's side, from round `number` on."""

    def __init__(self, ends: Ends, number: int, link: int) -> None:
        """`link`: descriptor of the socket by which other orders come."""
        self._ends, self._number, self._link = ends, number, link
        self._polls = tuple(poll_of(start, link) for start in (ends.even, ends.odd))

    def wait(self) -> bool:
        """Whether a round begins; if not, there is something to read from the socket, or the trainer is gone.

        A round that has begun comes first: whoever was slow to wake must take its step before it answers anything, or the
        trainer would go on without that step.
        """
        ready = dict(self._polls[self._number % 2].poll())
        start = self._ends.odd if self._number % 2 else self._ends.even
        if start not in ready or not os.read(start, 1):
            return False
        self._number += 1
        return True

    def leave(self) -> None:
        """This worker is done with the round."""
        try:
            os.read(self._ends.tickets, 1)
        except BlockingIOError:
            os.write(self._ends.last, b"k")


def poll_of(*descriptors: int) -> Any:
    """A `select.poll` object that tells which of them can be read."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return poll
