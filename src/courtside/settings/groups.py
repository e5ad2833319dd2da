"""Every setting of a run but those of its algorithm, in groups: the help page, the table before training and `config.json`
come from here.

The text under a field is its help. Flags are flat (`--num-envs`, not `--env.num-envs`) and carry CleanRL's names, those of
the MAD4PG family the names of the notebook that made it known on Tennis. No JAX here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from courtside.settings.algorithms import ALGORITHMS
from courtside.settings.values import split_words

Activation = Literal["tanh", "relu", "silu", "gelu"]
if TYPE_CHECKING:
    Algo = str
else:
    Algo = Literal[tuple(ALGORITHMS)]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The run itself."""

    algo: Algo = "ppo"
    """How agents learn: with ppo, or from a replay of continuous actions with ddpg, d4pg, maddpg or mad4pg; d4pg and mad4pg have a critic of distributions, maddpg and mad4pg one that sees every agent."""
    exp_name: str = ""
    """Name at the front of the run folder; empty takes the preset's."""
    seed: int = 1
    """Seed of everything random: same seed, same machine, same result."""
    seeds: int = 1
    """Train this many seeds side by side, from --seed upwards, and report how they spread; 1 is a plain run."""
    total_timesteps: int = 500_000
    """Environment steps in all, over all envs; rounded down to whole updates."""
    runs_dir: str = "runs"
    """Folder that receives the run folder."""
    quit_threshold: float | None = None
    """End the run once the mean score of the last quit_window episodes is above this; none trains to the end."""
    quit_window: int = 100
    """Episodes of that mean, all of which must have ended."""
    require_pass: bool = False
    """Exit with status 1 when the verdict is not a pass."""
    eval_every: int = -1
    """Environment steps between evaluations; 0 turns them off, -1 spreads up to ten over the run."""
    eval_episodes: int = 32
    """Episodes of one evaluation."""
    eval_deterministic: bool = False
    """Evaluate with the most likely action instead of drawing actions as training does."""
    checkpoint_seconds: float = 10.0
    """Seconds between checkpoints, more where one takes long to write; one is also written at the end and when you stop the run."""
    keep_checkpoints: int = 3
    """How many of the newest checkpoints to keep, beside the best."""
    snapshots: int = 10
    """Moments of the run kept whole, spread over it, for `courtside doctor --prove` to go back to, fewer where they would take more than 256 MB; 0 keeps none."""
    turns: tuple[str, ...] = ()
    """Settings that change on the way, as UPDATE:NAME=VALUE words: `500:learning_rate=1e-4` holds in every update after 500. Rates, clip and entropy coefficients, noise scale; the page's knobs (`courtside watch --knobs`) add theirs."""
    insure: bool = False
    """When a score that held is lost for good, go back to before the fall, race remedies and go on with the best."""
    tensorboard: bool = True
    """Write TensorBoard event files into the run folder."""
    screens: bool = False
    """Keep the newest screen of every env as a picture of its own in frames/, beside wall.png; only where envs have screens."""
    video_every: int = 0
    """Updates between two films of the newest policy in videos/, each made by a process of its own meanwhile; 0 makes none. Needs the `video` extra."""
    watch: bool = False
    """Show the runs of runs_dir on a page in the browser as long as this one trains, as `courtside watch` does (needs the `watch` extra)."""
    wandb: bool = False
    """Send the same metrics to Weights & Biases (needs the `wandb` extra)."""
    wandb_project: str = "courtside"
    """Project name at Weights & Biases."""
    deterministic: bool = True
    """Same bits every time on a GPU too; off lets it add up in any order, which is faster but never resumes exactly."""
    debug: bool = False
    """Show the full traceback of an error instead of one sentence."""


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """The world and how it is stepped."""

    env_id: str = "cartpole"
    """A name from `courtside envs`, `gym:NAME` for any Gymnasium env, `pz:module` for a PettingZoo one, `atari:game` for an Atari game, `gba:game` for one of the Game Boy Advance, or `module:Class` for your own."""
    rom: str = ""
    """Dump of your own cartridge, a .gba file, for `gba:` games; a run goes on with the same one."""
    env_options: tuple[str, ...] = ()
    """What the world is told, as NAME=VALUE words; `courtside envs NAME` lists a world's options. Added to those of the preset."""
    opponents: tuple[str, ...] = ()
    """Who is played by a fixed policy (also `--opponent`), as AGENT=POLICY words: `blue=random`, `blue=noop`, a script of the world, a run (`blue=runs/...`, with `:greedy` behind it for the most likely action), or `blue=learn` to let it learn after all."""
    score_cap: float | None = None
    """Cut a training episode once the best agent's return reaches this, above 0; none never cuts. Evaluations have no cap."""
    num_envs: int = 4
    """Copies of the world stepped side by side (B)."""
    workers: Literal["auto", "serial", "threads", "processes"] = "auto"
    """How a Gymnasium env is stepped; auto measures and takes the fastest. No effect on JAX worlds."""
    num_workers: int = 0
    """Worker threads or processes, of each group of envs where they take turns; 0 takes one per CPU core."""
    shifts: int = 0
    """Groups of envs that take turns outside JAX: while some are stepped, actions are chosen for another. 0 takes 2 where an accelerator chooses them, else 1."""
    staleness: int = 0
    """0 acts with the newest policy. 1 steps envs outside JAX while the update before is still being learned: faster where both take long, but each rollout is acted by the policy of one update ago. No effect on JAX worlds."""
    on_worker_failure: Literal["stop", "restart"] = "stop"
    """What to do when an env crashes, hangs or returns NaN: stop with an error, or start a new one in its place."""
    worker_timeout: float = 60.0
    """Seconds after which a worker that does not answer counts as hung."""

    HOST_ONLY = (
        "rom", "workers", "num_workers", "shifts", "staleness", "on_worker_failure", "worker_timeout",
    )  # fmt: skip
    """Settings without effect on worlds that live in the compiled program; all others are part of it."""

    @property
    def options(self) -> dict[str, str]:
        """All that the world is told, the cartridge included."""
        return split_words(self.env_options) | ({"rom": self.rom} if self.rom else {})


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    """The network."""

    hidden_sizes: tuple[int, ...] = (64, 64)
    """Units of each hidden layer (also `--layer-sizes`)."""
    activation: Activation = "tanh"
    """Non-linearity between layers."""
    shared_torso: bool = False
    """Policy and value share the hidden layers instead of having their own; those that see images always share them."""
    torso: Literal["auto", "mlp", "cnn"] = "auto"
    """What looks at observations first: hidden layers (mlp), or the Nature CNN, which takes the place of hidden_sizes (cnn); auto gives images, uint8 boxes of 36 x 36 pixels or more, the CNN. PPO only."""
    cnn_features: int = 512
    """Units of the layer behind the CNN's convolutions; policy and value read them directly. No effect without a CNN."""
    lstm_size: int = 0
    """Units of an LSTM, a memory between the hidden layers (then shared) and both heads; 0 has none, 128 is usual. PPO only."""
    lstm_steps: int = 0
    """Steps of a sequence that an LSTM learns from, which must divide num_steps; 0 takes all num_steps. Shorter ones are faster, and learn to remember less far."""
    critic_lstm: bool = False
    """The value has an LSTM of its own, of the same size and behind the same hidden layers, instead of reading the policy's."""
    learners: Literal["shared", "independent"] = "shared"
    """With several agents: all play and learn with one set of parameters, or each with its own."""
    critic: Literal["own", "central"] = "own"
    """With several agents: PPO's critic sees what its agent sees, or what all of them see (acting never does); elsewhere `--algo` decides."""
