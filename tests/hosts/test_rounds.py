"""Tickets: every worker takes part in every round once, however quick or slow it is."""

import random
import select
import socket
import threading
import time

import pytest

from courtside.hosts.rounds import Attendance, Rounds
from waiting import PATIENCE


class Workers:
    """Threads in the place of processes: the pipes do not know the difference."""

    def __init__(self, rounds: Rounds, count: int) -> None:
        self.taken = [[] for _ in range(count)]
        self.links = [socket.socketpair() for _ in range(count)]
        self.rounds, self.threads = rounds, {}
        for w in range(count):
            self.start(w)

    def start(self, w: int) -> None:
        self.threads[w] = threading.Thread(target=self.work, args=(w, self.rounds.number))
        self.threads[w].start()

    def work(self, w: int, number: int) -> None:
        mine = self.links[w][1]
        attendance, wait = Attendance(self.rounds.ends, number, mine.fileno()), random.Random(w)
        while attendance.wait():
            time.sleep(wait.choice([0, 0, 0.002]))
            self.taken[w].append(self.rounds.number)
            attendance.leave()
        mine.recv(1)

    def stop(self, w: int) -> None:
        self.links[w][0].sendall(b"q")
        self.threads[w].join(PATIENCE)

    def close(self) -> None:
        for w in range(len(self.links)):
            self.stop(w)
        for pair in self.links:
            for end in pair:
                end.close()


@pytest.fixture
def rounds():
    made = Rounds(5)
    yield made
    made.close()


def wait_for_end(rounds: Rounds) -> None:
    assert select.select([rounds.is_over], [], [], PATIENCE)[0]
    rounds.finish()


def test_every_worker_takes_part_in_every_round_once(rounds):
    workers = Workers(rounds, 5)
    for _ in range(60):
        rounds.begin()
        wait_for_end(rounds)
    workers.close()
    assert workers.taken == [list(range(1, 61))] * 5


def test_a_round_that_has_begun_comes_before_any_other_order(rounds):
    """A worker that was slow to wake finds both: it must not answer as if it had taken its step."""
    ours, theirs = socket.socketpair()
    attendance = Attendance(rounds.ends, 0, theirs.fileno())
    rounds.begin()
    ours.sendall(b"n")
    assert attendance.wait()
    assert not attendance.wait()
    ours.close()
    theirs.close()


def test_a_round_without_one_worker_is_never_over_and_can_be_cleared(rounds):
    workers = Workers(rounds, 5)
    workers.stop(2)
    rounds.begin()
    assert not select.select([rounds.is_over], [], [], 0.1)[0]
    rounds.clear()
    workers.start(2)  # in the place of the one that is gone
    for _ in range(4):
        rounds.begin()
        wait_for_end(rounds)
    workers.close()
    assert [len(taken) for taken in workers.taken] == [5, 5, 4, 5, 5]
