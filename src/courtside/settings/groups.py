"""Every setting of a run, in groups: the help page, the table before training and `config.json` come from here.

The text under a field is its help. Flags are flat (`--num-envs`, not `--env.num-envs`) and carry CleanRL's names, those of
the MAD4PG family the names of the notebook that made it known on Tennis. No JAX here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from courtside.settings.values import split_words

Activation = Literal["tanh", "relu", "silu", "gelu"]
Algo = Literal["ppo", "ddpg", "d4pg", "maddpg", "mad4pg"]


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


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Proximal Policy Optimization."""

    num_steps: int = 128
    """Steps that each env takes between two updates (T)."""
    learning_rate: str = "2.5e-4"
    """Adam's step size: a number or a schedule such as `linear(2.5e-4, 0)`, `exponential(1e-3, 1e-5)`, `warmup(0.05, linear(1e-3, 0))`, all over the planned run, or, whatever the plan, `decay(2.5e-4, 2e6)`, halved every 2 million steps, and `warmup(1e6 steps, 1e-4)`."""
    anneal_lr: bool = True
    """Turn a plain learning rate x into `linear(x, 0)`; no effect on a rate that is a schedule already."""
    gamma: float = 0.99
    """Discount: how much a reward is worth one step later, 0 to 1."""
    gae_lambda: float = 0.95
    """Balance of bias and variance in the advantages, 0 to 1."""
    num_minibatches: int = 4
    """Pieces that each batch is cut into; must divide the batch."""
    update_epochs: int = 4
    """Passes over each batch."""
    norm_adv: bool = True
    """Scale advantages of each minibatch to mean 0 and deviation 1."""
    clip_coef: str = "0.2"
    """How far the probability ratio may move from 1 before it is clipped: a number or a schedule."""
    clip_vloss: bool = True
    """Clip how far the value may move, by the same amount as the ratio; off takes the plain squared error."""
    ent_coef: str = "0.01"
    """Weight of the entropy bonus: a number or a schedule."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    """Largest norm of the whole gradient; larger ones are scaled down."""
    target_kl: float | None = None
    """Stop an update early once the policy has moved this far (approx_kl); none never stops."""
    target_kl_mode: Literal["epoch", "minibatch"] = "epoch"
    """When that is tested: after each epoch against target_kl, or before each step against 1.5 x target_kl."""
    norm_obs: bool = False
    """Scale observations by their running mean and deviation, clipped to +-10."""
    norm_reward: bool = False
    """Scale rewards by the running deviation of the discounted return, clipped to +-10."""
    adam_eps: float = 1e-5
    """Adam's epsilon."""
    weight_decay: float = 0.0
    """AdamW: share of every parameter that a gradient step takes away, times the learning rate; 0 is plain Adam."""


@dataclass(frozen=True, kw_only=True)
class MAD4PGConfig:
    """DDPG, D4PG, MADDPG and MAD4PG: replay of continuous actions."""

    num_steps: int = 1
    """Steps that each env takes between two rounds of learning (T)."""
    updates_per_step: float = 1.0
    """Gradient steps for each environment step; below 1 learns more rarely than it acts."""
    gamma: float = 0.99
    """Discount: how much a reward is worth one step later, 0 to 1."""
    rollout: int = 5
    """Steps whose rewards are added up before the critic's own estimate takes over (n)."""
    batch_size: int = 128
    """Entries of one gradient step."""
    buffer_size: int = 300_000
    """Entries that the replay holds; the oldest make room."""
    pretrain: int = 10_000
    """Entries collected with random actions before learning begins."""
    actor_learn_rate: str = "2.5e-4"
    """Adam's step size of the actors: a number or a schedule such as `linear(2.5e-4, 0)` or `decay(2.5e-4, 2e6)`."""
    critic_learn_rate: str = "5e-4"
    """Adam's step size of the critics: a number or a schedule."""
    update_type: Literal["soft", "hard"] = "soft"
    """How the target networks follow: a little at every gradient step (tau), or by a copy now and then (C)."""
    tau: float = 1e-3
    """Soft: share of the way to the network at each gradient step, up to 1."""
    C: int = 2500
    """Hard: gradient steps between two copies."""
    vmin: float = -0.1
    """Lowest return that the critic's distribution can hold; no effect on ddpg and maddpg."""
    vmax: float = 2.0
    """Highest return that the critic's distribution can hold; no effect on ddpg and maddpg."""
    num_atoms: int = 101
    """Points of the critic's distribution, evenly spaced from vmin to vmax (N)."""
    noise: Literal["gaussian", "ou", "parameter"] = "gaussian"
    """What exploration adds: noise on each action, the same with a memory (Ornstein-Uhlenbeck), or noise on the actor's weights that keeps actions e apart."""
    e: str = "0.3"
    """Scale of the noise before annealing, in actions from -1 to 1: a number or a schedule."""
    e_min: float = 0.0
    """Scale of the noise after annealing by score."""
    anneal: Literal["score", "schedule"] = "score"
    """What takes the noise from e to e_min: the mean score of the last episodes, or nothing but e itself, which may be a schedule."""
    anneal_max: float = 0.7
    """Score at which the noise has reached e_min."""
    anneal_window: int = 50
    """Episodes of the mean score that anneals the noise."""
    ou_theta: float = 0.15
    """Share by which Ornstein-Uhlenbeck noise returns to 0 at each step."""
    prioritized: bool = False
    """Replay what was predicted badly more often."""
    per_alpha: float = 0.6
    """Prioritized: how strongly, from 0 (all alike) to 1 (in proportion to the error)."""
    per_beta: float = 0.4
    """Prioritized: how far weights make up for it, from 0 (not at all) to 1 (fully)."""
    ensemble: int = 1
    """Policies that each agent learns side by side; they take turns, episode by episode (K)."""
    l2: float = 1e-4
    """Weight decay of actors and critics, added to the gradient."""
    max_grad_norm: float = 0.0
    """Largest norm of a whole gradient; 0 never cuts."""
    norm_obs: bool = False
    """Scale observations by their running mean and deviation, clipped to +-10."""
    adam_eps: float = 1e-8
    """Adam's epsilon."""
    other_actions: Literal["stored", "current"] = "stored"
    """What a central critic assumes the other agents do while an actor learns: what was stored, or what they would do now."""
    init: Literal["fan-in", "uniform"] = "fan-in"
    """First weights: by the size of each layer and small at the output, or every weight and bias anywhere within +-0.03."""


SCHEDULES = {
    "ppo": ("learning_rate", "clip_coef", "ent_coef"),
    "mad4pg": ("actor_learn_rate", "critic_learn_rate", "e"),
}
"""Group -> its settings that are a number or a schedule. They are data of the compiled program too."""
MAD4PG_TRACED = (
    "gamma", "pretrain", "actor_learn_rate", "critic_learn_rate", "update_type", "tau", "C", "vmin", "vmax",
    "e", "e_min", "anneal", "anneal_max", "ou_theta", "per_alpha", "per_beta", "l2", "max_grad_norm", "adam_eps",
)  # fmt: skip
"""Settings that are data of the compiled program, so that members of a population may differ in them; only whether gradients
are cut at all is part of the program."""
