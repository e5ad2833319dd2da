import av
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.engines.episodes import Trace
from courtside.envs.classic import CartPole
from courtside.envs.probe import Constant, TwoAgents
from courtside.errors import ConfigError
from courtside.training import filming

draw = jax.jit(jax.vmap(CartPole().render))


def episode(length: int, ending: str = "terminated") -> Trace:
    states = jnp.zeros((length + 1, 4)).at[:, 0].set(jnp.linspace(-1, 1, length + 1))
    return Trace(states, np.ones((length, 1), np.float32), ending)


def test_a_recording_shows_every_state_and_holds_each_end_for_a_second(tmp_path):
    count = filming.record_episodes(tmp_path / "out.gif", CartPole(), [episode(40), episode(3)])
    assert count == 41 + 49 + 4 + 49
    with av.open(str(tmp_path / "out.gif")) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    # Beyond one batch too, each picture is that of its own state.
    for t in (0, 31, 32, 40):
        one = np.asarray(jax.jit(CartPole().render)(episode(40).states[t]), int)
        assert np.abs(frames[t][:240].astype(int) - one).mean() < 1, t
    assert np.array_equal(frames[40], frames[41 + 48])


def test_captions_count_steps_and_rewards():
    env = CartPole()
    assert filming.describe_step(env, 3, np.array([1.4505])) == ("step 3", "reward 1.45")
    assert filming.describe_step(env, 3, np.array([-0.0001]), "time limit") == ("step 3", "reward 0", "time limit")
    assert filming.describe_step(TwoAgents(), 0, np.array([1, -0.5])) == ("step 0", "agent_0 1", "agent_1 -0.5")


def test_the_caption_of_the_last_frame_says_how_it_ended():
    frames = list(filming.draw_episode(CartPole(), draw, episode(2), fps=3))
    silent = list(filming.draw_episode(CartPole(), draw, episode(2, ending=""), fps=3))
    assert len(frames) == 3 + 2
    np.testing.assert_array_equal(frames[1], silent[1])
    assert not np.array_equal(frames[2], silent[2])


def test_states_with_random_keys_inside_can_be_drawn():
    states = {"body": jnp.zeros((2, 4)), "key": jax.random.split(jax.random.key(0), 2)}
    frames = list(filming.draw_states(lambda states: draw(states["body"]), states))
    np.testing.assert_array_equal(frames[1], jax.jit(CartPole().render)(states["body"][1]))


def test_a_world_that_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="probe-constant cannot be drawn"):
        filming.record_episodes(tmp_path / "out.mp4", Constant(), [])
    assert list(tmp_path.iterdir()) == []
