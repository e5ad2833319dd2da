"""Moments kept whole, at updates that do not depend on how a run was cut up."""

from __future__ import annotations

from courtside.runs import snapshots
from courtside.settings import config, presets
from courtside.settings.turns import Turns
from courtside.training import insurance, loop


def planned(**changes):
    return config.override(presets.find_preset("cartpole"), num_envs=4, num_steps=32, **changes)


def test_moments_are_spread_over_the_run_and_leave_out_its_end():
    settings = planned(total_timesteps=128 * 100, snapshots=4)
    assert [u for u in range(101) if snapshots.is_due(settings, u)] == [25, 50, 75]
    assert snapshots.period(planned(snapshots=0)) == 0
    assert not snapshots.is_due(planned(snapshots=0), 50)


def test_chunks_stop_at_snapshots_evaluations_and_insurance_checks():
    settings = planned(total_timesteps=128 * 300, snapshots=4, eval_every=128 * 20, insure=True)
    periods = (insurance.period(settings),)
    assert loop.updates_until_pause(settings, 0, Turns(settings), periods) == 3, "the insurance looks every 3 updates"
    plain = planned(total_timesteps=128 * 300, snapshots=4, eval_every=128 * 20)
    assert [loop.updates_until_pause(plain, u, Turns(plain)) for u in (0, 20, 60, 74, 75, 290)] == [
        20,
        20,
        15,
        1,
        5,
        10,
    ]
    bare = planned(snapshots=0, eval_every=0, total_timesteps=128 * 300)
    assert loop.updates_until_pause(bare, 7, Turns(bare)) == 293


def test_the_newest_moment_before_the_trouble_is_found(tmp_path):
    for update in (10, 20, 30):
        snapshots.path(tmp_path, update).write_bytes(b"")
    assert snapshots.newest_at(tmp_path, 29) == snapshots.path(tmp_path, 20)
    assert snapshots.newest_at(tmp_path, 9) is None
    snapshots.forget_after(tmp_path, 10)
    assert snapshots.updates_in(tmp_path) == [10]


def test_large_states_are_kept_more_rarely_but_still_spread():
    settings = planned(total_timesteps=128 * 100, snapshots=10)
    kept = {mb: [u for u in range(101) if snapshots.is_kept(settings, u, mb)] for mb in (1.0, 120.0, 130.0, 300.0)}
    assert kept == {1.0: [*range(10, 100, 10)], 120.0: [40, 80], 130.0: [50], 300.0: []}
    assert [snapshots.num_kept(settings, mb) for mb in kept] == [9, 2, 1, 0]
    assert snapshots.num_kept(planned(snapshots=0), 1.0) == 0
