"""How envs are shared out among workers."""

import pytest

from courtside.hosts.crews import shares


@pytest.mark.parametrize(("num_envs", "num_workers"), [(1, 1), (4, 2), (7, 3), (256, 6), (5, 5)])
def test_every_env_has_one_worker_and_shares_are_even(num_envs, num_workers):
    parts = shares(num_envs, num_workers)
    assert [i for first, last in parts for i in range(first, last)] == list(range(num_envs))
    sizes = [last - first for first, last in parts]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1
