"""What is wrong with a config: one sentence for each fault, with what was found, what is expected and what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from courtside.errors import ConfigError
from courtside.settings import turns
from courtside.settings.config import MAX_SEED, Config, group_types, setting_hints
from courtside.settings.groups import SCHEDULES
from courtside.settings.schedules import parse_schedule
from courtside.settings.values import fit, flag_of, split_words, word_faults
from courtside.settings.worlds import describe_game

ABOVE_0 = {
    "run": ("total_timesteps", "eval_episodes", "keep_checkpoints", "seeds", "checkpoint_seconds", "quit_window"),
    "env": ("num_envs", "worker_timeout"),
    "ppo": ("num_steps", "num_minibatches", "update_epochs", "max_grad_norm", "adam_eps"),
    "mad4pg": (
        "num_steps", "updates_per_step", "rollout", "batch_size", "buffer_size", "pretrain", "tau", "C", "anneal_max",
        "anneal_window", "ensemble", "adam_eps",
    ),
}  # fmt: skip
NOT_BELOW_0 = {"ppo": ("vf_coef", "weight_decay"), "mad4pg": ("e_min", "l2", "max_grad_norm")}
SHARES = {"ppo": ("gamma", "gae_lambda"), "mad4pg": ("gamma", "per_alpha", "per_beta", "ou_theta")}


def find_faults(config: Config) -> list[str]:
    """Every fault at once; ranges are looked at where all types are right. The idle family is not looked at."""
    checks = [
        _range_faults, _run_faults, _shift_faults, _staleness_faults, _net_faults, _word_faults, _game_faults, _schedule_faults,
        turns.faults,
    ]  # fmt: skip
    checks += [_finite_faults, _replay_faults, _target_faults] if config.is_off_policy else [_ppo_faults]
    return _type_faults(config) or [fault for check in checks for fault in check(config)]


def _type_faults(config: Config) -> list[str]:
    """Values of the wrong type, such as 1e6 for a whole number in a config.json written by hand."""
    faults = []
    for group, kind in group_types().items():
        for name, hint in setting_hints(kind).items():
            try:
                fit(name, hint, getattr(getattr(config, group), name), strict=True)
            except ConfigError as error:
                faults.append(str(error))
    return faults


def _range_faults(config: Config) -> list[str]:
    """Settings outside the range in which they mean anything."""
    positive, not_below, shares = (_values(config, table) for table in (ABOVE_0, NOT_BELOW_0, SHARES))
    faults = [f"{flag_of(name)} is {value}, but it must be above 0." for name, value in positive if not value > 0]
    faults += [f"{flag_of(name)} is {value}, but it must be 0 or more." for name, value in not_below if not value >= 0]
    return faults + [
        f"{flag_of(name)} is {value}, but it must lie between 0 and 1." for name, value in shares if not 0 <= value <= 1
    ]


def _values(config: Config, table: Mapping[str, tuple[str, ...]]) -> list[tuple[str, Any]]:
    """Settings and their values, of the groups that the run has."""
    groups = ("run", "env", config.family)
    return [(name, getattr(getattr(config, group), name)) for group in groups for name in table.get(group, ())]


def _run_faults(config: Config) -> list[str]:
    run, faults = config.run, []
    if config.env.num_workers < 0:
        faults.append(f"--num-workers is {config.env.num_workers}, but it must be 0 (one per core) or more.")
    if run.eval_every < -1:
        faults.append(
            f"--eval-every is {run.eval_every}, but it must be a number of steps, 0 (off) or -1 (up to ten times)."
        )
    if run.snapshots < 0:
        faults.append(f"--snapshots is {run.snapshots}, but it must be 0 (none) or more.")
    if run.video_every < 0:
        faults.append(f"--video-every is {run.video_every}, but it must be a number of updates, or 0 for no films.")
    if run.video_every and run.seeds > 1:
        faults.append(f"--video-every films one run, but --seeds is {run.seeds}; leave one of them out.")
    if not 0 <= run.seed <= MAX_SEED:
        faults.append(f"--seed is {run.seed}, but it must lie between 0 and {MAX_SEED}.")
    elif run.seed + run.seeds - 1 > MAX_SEED:
        faults.append(f"--seeds {run.seeds} from --seed {run.seed} go past the largest seed, {MAX_SEED}; start lower.")
    if run.quit_threshold is not None and not math.isfinite(run.quit_threshold):
        faults.append(
            f"--quit-threshold is {run.quit_threshold}, but it must be a score; leave it out to train to the end."
        )
    if (cap := config.env.score_cap) is not None and not cap > 0:
        faults.append(
            f"--score-cap is {cap}, but it must be above 0, where a return starts; leave it out to never cut an episode."
        )
    return faults


def _shift_faults(config: Config) -> list[str]:
    """Envs outside JAX that take turns."""
    told, count = config.env.shifts, config.env.num_envs
    if told < 0:
        return [f"--shifts is {told}, but it must be 1 or more, or 0 to let courtside choose."]
    if told < 2:
        return []
    if config.is_off_policy or config.net.lstm_size:
        return [f"--shifts is {told}, but only PPO without an LSTM can let its envs take turns; leave it out."]
    if count % told:
        return [f"--shifts is {told}, but --num-envs is {count}, which it does not divide; use a multiple of {told}."]
    return []


def _staleness_faults(config: Config) -> list[str]:
    """Envs outside JAX that are stepped while an update is being learned."""
    told = config.env.staleness
    if told not in (0, 1):
        return [
            f"--staleness is {told}, but it must be 0 (act with the newest policy) or 1 (with that of one update ago)."
        ]
    if told and (config.is_off_policy or config.net.lstm_size):
        return ["--staleness is 1, but only PPO without an LSTM can act with an older policy; leave it out."]
    return []


def _net_faults(config: Config) -> list[str]:
    net, faults = config.net, []
    if config.is_off_policy and net.shared_torso:
        faults.append(
            f"--shared-torso is for --algo ppo, but the actor and the critic of {config.run.algo} see other inputs; "
            "use --no-shared-torso."
        )
    elif net.critic == "central" and net.shared_torso:
        faults.append(
            "--critic central sees more than the policy, so it needs hidden layers of its own; use --no-shared-torso."
        )
    if config.is_off_policy and net.critic == "central" and not config.has_central_critic:
        central = "mad4pg" if config.is_distributional else "maddpg"
        faults.append(
            f"--critic is central, but the critic of {config.run.algo} sees what its own agent sees; use --algo {central}."
        )
    if not net.hidden_sizes or min(net.hidden_sizes) < 1:
        faults.append(f"--hidden-sizes is {net.hidden_sizes}, but it must be one or more sizes above 0.")
    if net.cnn_features < 1:
        faults.append(f"--cnn-features is {net.cnn_features}, but it must be above 0; 512 is usual.")
    if config.is_off_policy and net.torso == "cnn":
        faults.append(
            f"--torso is cnn, but the networks of {config.run.algo} have no CNN; use --algo ppo for images, or --torso auto."
        )
    return faults + _memory_faults(config)


def _memory_faults(config: Config) -> list[str]:
    """What a policy that remembers cannot be combined with."""
    size, net = config.net.lstm_size, config.net
    if size < 0:
        return [f"--lstm-size is {size}, but it must be 0 (no memory) or more."]
    if size == 0:
        given = {"--critic-lstm": net.critic_lstm, f"--lstm-steps {net.lstm_steps}": net.lstm_steps}
        told = [flag for flag, is_set in given.items() if is_set]
        return [
            f"{flag} was given, but without --lstm-size there is no LSTM; add one or leave it out." for flag in told
        ]
    if config.is_off_policy:
        return [
            f"--lstm-size is {size}, but only --algo ppo has a memory and this run trains with {config.run.algo}; "
            "leave it out, or use --algo ppo."
        ]
    faults = []
    if net.critic == "central":
        faults.append(
            f"--critic central was given with --lstm-size {size}, but the memory holds what one agent saw; use --critic own."
        )
    return faults + _sequence_faults(config)


def _sequence_faults(config: Config) -> list[str]:
    """Sequences that an LSTM learns from must fill rollouts and minibatches; silent where a size is at fault already."""
    ppo, num_envs, length = config.ppo, config.env.num_envs, config.net.lstm_steps
    if min(ppo.num_steps, ppo.num_minibatches, num_envs) < 1:
        return []
    if length < 0 or (length and ppo.num_steps % length):
        nearest = nearest_divisor(ppo.num_steps, max(length, 1))
        return [
            f"--lstm-steps is {length}, but it must divide the {ppo.num_steps} steps of a rollout (--num-steps), or be 0 for all "
            f"of them; the nearest that does is {nearest}."
        ]
    sequences = num_envs * (ppo.num_steps // (length or ppo.num_steps))
    if sequences % ppo.num_minibatches == 0:
        return []
    named = (
        f"{num_envs} envs (--num-envs)" if not length else f"{sequences} sequences of {num_envs} envs (--lstm-steps)"
    )
    return [
        f"--num-minibatches is {ppo.num_minibatches}, but with --lstm-size it must divide the {named}, since a minibatch is made "
        f"of whole sequences; the nearest that does is {nearest_divisor(sequences, ppo.num_minibatches)}."
    ]


def _word_faults(config: Config) -> list[str]:
    faults = word_faults("--env-options", config.env.env_options, "view_size=5")
    return faults + word_faults("--opponents", config.env.opponents, "blue=random")


def _game_faults(config: Config) -> list[str]:
    """Options of a game, which are known without its emulator; silent where their words cannot even be read."""
    if _word_faults(config):
        return []
    try:
        describe_game(config.env.env_id, split_words(config.env.env_options))
    except ConfigError as error:
        return [str(error)]
    return []


def _schedule_faults(config: Config) -> list[str]:
    faults = []
    for name in SCHEDULES[config.family]:
        text = getattr(config.learning, name)
        try:
            schedule = parse_schedule(text, flag_of(name))
        except ConfigError as error:
            faults.append(str(error))
            continue
        if min(schedule.start, schedule.end) < 0:
            faults.append(f"{flag_of(name)} is {text}, but it must not go below 0.")
    return faults


def _batch_words(config: Config) -> str:
    return f"{config.batch_size} samples ({config.env.num_envs} envs x {config.learning.num_steps} steps)"


def _length_faults(config: Config) -> list[str]:
    if not 0 < config.run.total_timesteps < config.batch_size:
        return []
    return [
        f"--total-timesteps is {config.run.total_timesteps}, but one update takes the batch of {_batch_words(config)}; "
        "ask for at least that many."
    ]


def _ppo_faults(config: Config) -> list[str]:
    """Sizes that do not divide or do not fit each other; silent where a size itself is already at fault."""
    ppo, faults = config.ppo, []
    if ppo.target_kl is not None and not ppo.target_kl > 0:
        faults.append(f"--target-kl is {ppo.target_kl}, but it must be above 0; leave it out to never stop early.")
    if min(config.env.num_envs, ppo.num_steps, ppo.num_minibatches) < 1:
        return faults
    batch = f"the batch of {_batch_words(config)}"
    if config.batch_size % ppo.num_minibatches and not config.net.lstm_size:  # a memory asks for more than that
        nearest = nearest_divisor(config.batch_size, ppo.num_minibatches)
        hint = "" if nearest is None else f"; the nearest that does is {nearest}"
        faults.append(f"--num-minibatches is {ppo.num_minibatches}, but it must divide {batch}{hint}.")
    faults += _length_faults(config)
    if ppo.norm_adv and config.batch_size // ppo.num_minibatches < 2:
        faults.append(
            f"--num-minibatches {ppo.num_minibatches} leaves 1 sample in a minibatch of {batch}, but --norm-adv needs 2; "
            "use fewer minibatches or --no-norm-adv."
        )
    return faults


def _replay_faults(config: Config) -> list[str]:
    """Sizes of the replay that do not fit each other; silent where a size itself is already at fault."""
    own, num_envs = config.mad4pg, config.env.num_envs
    if min(num_envs, own.num_steps, own.rollout, own.batch_size, own.buffer_size, own.pretrain) < 1:
        return []
    steps = own.buffer_size // num_envs
    if steps < max(own.num_steps, own.rollout):
        most = max((own.num_steps, "--num-steps"), (own.rollout, "--rollout"))
        return [
            f"--buffer-size is {own.buffer_size}, which holds {steps} steps of each of {num_envs} envs, but {most[1]} is "
            f"{most[0]}; ask for a buffer of at least {num_envs * most[0]}."
        ]
    faults, held = _length_faults(config) + _ratio_faults(config), steps * num_envs
    buffer = f"the buffer holds {held} entries (--buffer-size, in whole steps of {num_envs} envs)"
    if own.batch_size > held:
        faults.append(f"--batch-size is {own.batch_size}, but {buffer}; use a smaller batch or a larger buffer.")
    if own.pretrain > held:
        faults.append(f"--pretrain is {own.pretrain}, but {buffer}; collect fewer or use a larger buffer.")
    if own.pretrain < own.batch_size:
        faults.append(
            f"--pretrain is {own.pretrain}, but a batch takes {own.batch_size} entries; collect at least that many first."
        )
    if config.batch_size <= config.run.total_timesteps <= own.pretrain:
        faults.append(
            f"--total-timesteps is {config.run.total_timesteps}, but the first {own.pretrain} steps are random (--pretrain), "
            "so nothing would be learned; train for longer or collect fewer first."
        )
    return faults


def _ratio_faults(config: Config) -> list[str]:
    """An update makes whole gradient steps: a ratio that they miss by more than a tenth would be another one than asked for."""
    ratio, num_envs = config.mad4pg.updates_per_step, config.env.num_envs
    if not 0 < ratio < math.inf or _is_near_whole(ratio * config.batch_size):
        return []
    fitting = next((t for t in range(1, 10_001) if _is_near_whole(ratio * num_envs * t)), None)
    advice = f"use --num-steps {fitting}" if fitting else "use a larger ratio"
    return [
        f"--updates-per-step is {ratio:g}, which is {ratio * config.batch_size:g} gradient steps in an update of "
        f"{_batch_words(config)}, but there can be whole ones only; {advice}."
    ]


def _is_near_whole(count: float) -> bool:
    return round(count) >= 1 and abs(round(count) - count) <= 0.1 * count


def _finite_faults(config: Config) -> list[str]:
    kinds = setting_hints(group_types()[config.family])
    numbers = [(name, getattr(config.learning, name)) for name, kind in kinds.items() if kind is float]
    return [f"{flag_of(name)} is {x}, but it must be a finite number." for name, x in numbers if not math.isfinite(x)]


def _highest(text: str) -> float:
    """The highest value of a schedule; infinite where it is none, which is a fault of its own."""
    try:
        schedule = parse_schedule(text)
    except ConfigError:
        return math.inf
    return max(schedule.start, schedule.end)


def _target_faults(config: Config) -> list[str]:
    """How the targets follow, where the noise ends, and the range of a critic that predicts a distribution."""
    own, faults = config.mad4pg, []
    if own.tau > 1:
        faults.append(f"--tau is {own.tau}, but it must be a share above 0 and up to 1; 1 copies at every step.")
    if own.anneal == "score" and own.e_min > (loudest := max(_highest(own.e), 0.0)):
        faults.append(
            f"--e-min is {own.e_min:g}, but --e is {loudest:g} at most, and the noise falls from e to e_min; lower --e-min or "
            "raise --e."
        )
    if not config.is_distributional:
        return faults
    if not own.vmin < own.vmax:
        faults.append(
            f"--vmin is {own.vmin} and --vmax is {own.vmax}, but vmin must be below vmax; give the lowest and the highest "
            "return that you expect."
        )
    if own.num_atoms < 2:
        faults.append(f"--num-atoms is {own.num_atoms}, but a distribution needs 2 or more; 51 to 101 are usual.")
    return faults


def nearest_divisor(number: int, near: int, furthest: int = 100_000) -> int | None:
    """Searched outwards from `near`, the smaller first; None where there is none within `furthest`."""
    near = min(near, number)
    outwards = (near + sign * distance for distance in range(furthest) for sign in (-1, 1))
    return next((d for d in outwards if d >= 1 and number % d == 0), None)
