"""PettingZoo envs through the Python API: trained, saved, loaded, evaluated."""

import courtside


def test_agents_alike_learn(tmp_path):
    """A perfect episode of `Mirror` returns 8 to each of the two agents, a random one 4."""
    result = courtside.train(
        env_id="pz:pz_envs", num_envs=8, num_steps=32, num_minibatches=4, learning_rate=1e-2, hidden_sizes=(16,),
        total_timesteps=8_000, eval_every=0, workers="serial", runs_dir=str(tmp_path),
    )  # fmt: skip
    assert courtside.evaluate(result.run_dir, episodes=20, which="last").mean > 7
