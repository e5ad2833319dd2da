"""What is wrong with a config: one sentence for each fault, with what was found, what is expected and what to do."""

from __future__ import annotations

import math

from courtside.errors import ConfigError
from courtside.settings import turns
from courtside.settings.config import MAX_SEED, Config, setting_hints
from courtside.settings.learning import nearest_divisor
from courtside.settings.schedules import parse_schedule
from courtside.settings.values import fit, flag_of, split_words, word_faults
from courtside.settings.worlds import describe_game

ABOVE_0 = {
    "run": ("total_timesteps", "eval_episodes", "keep_checkpoints", "seeds", "checkpoint_seconds", "quit_window"),
    "env": ("num_envs", "worker_timeout"),
}


def find_faults(config: Config) -> list[str]:
    """Every fault at once; ranges are looked at where all types are right."""
    checks = [
        _range_faults, _run_faults, _shift_faults, _staleness_faults, _net_faults, _word_faults, _game_faults, _schedule_faults,
        turns.faults, config.learning.faults,
    ]  # fmt: skip
    return _type_faults(config) or [fault for check in checks for fault in check(config)]


def _type_faults(config: Config) -> list[str]:
    """Values of the wrong type, such as 1e6 for a whole number in a config.json written by hand."""
    faults = []
    for group in config.groups.values():
        for name, hint in setting_hints(type(group)).items():
            try:
                fit(name, hint, getattr(group, name), strict=True)
            except ConfigError as error:
                faults.append(str(error))
    return faults


def _range_faults(config: Config) -> list[str]:
    """Settings outside the range in which they mean anything."""
    own, values = config.learning, {name: x for group in config.groups.values() for name, x in vars(group).items()}
    above = (*(name for names in ABOVE_0.values() for name in names), *own.ABOVE_0)
    faults = [f"{flag_of(name)} is {values[name]}, but it must be above 0." for name in above if not values[name] > 0]
    faults += [f"{flag_of(x)} is {values[x]}, but it must be 0 or more." for x in own.NOT_BELOW_0 if not values[x] >= 0]
    return faults + [
        f"{flag_of(name)} is {values[name]}, but it must lie between 0 and 1."
        for name in own.SHARES
        if not 0 <= values[name] <= 1
    ]


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
    if not config.traits.can_overlap or config.net.lstm_size:
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
    if told and (not config.traits.can_overlap or config.net.lstm_size):
        return ["--staleness is 1, but only PPO without an LSTM can act with an older policy; leave it out."]
    return []


def _net_faults(config: Config) -> list[str]:
    net, faults = config.net, []
    if not config.traits.has_actor_critic and net.shared_torso:
        faults.append(
            f"--shared-torso is for --algo ppo, but the actor and the critic of {config.run.algo} see other inputs; "
            "use --no-shared-torso."
        )
    elif net.critic == "central" and net.shared_torso:
        faults.append(
            "--critic central sees more than the policy, so it needs hidden layers of its own; use --no-shared-torso."
        )
    if net.critic == "central" and not config.has_central_critic:
        faults.append(
            f"--critic is central, but the critic of {config.run.algo} sees what its own agent sees; use --algo {config.traits.with_central_critic}."
        )
    if not net.hidden_sizes or min(net.hidden_sizes) < 1:
        faults.append(f"--hidden-sizes is {net.hidden_sizes}, but it must be one or more sizes above 0.")
    if net.cnn_features < 1:
        faults.append(f"--cnn-features is {net.cnn_features}, but it must be above 0; 512 is usual.")
    if not config.traits.has_actor_critic and net.torso == "cnn":
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
    if not config.traits.has_actor_critic:
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
    num_envs, num_steps, length = config.env.num_envs, config.learning.num_steps, config.net.lstm_steps
    num_minibatches = getattr(config.learning, "num_minibatches", 1)
    if min(num_steps, num_minibatches, num_envs) < 1:
        return []
    if length < 0 or (length and num_steps % length):
        nearest = nearest_divisor(num_steps, max(length, 1))
        return [
            f"--lstm-steps is {length}, but it must divide the {num_steps} steps of a rollout (--num-steps), or be 0 for all "
            f"of them; the nearest that does is {nearest}."
        ]
    sequences = num_envs * (num_steps // (length or num_steps))
    if sequences % num_minibatches == 0:
        return []
    named = (
        f"{num_envs} envs (--num-envs)" if not length else f"{sequences} sequences of {num_envs} envs (--lstm-steps)"
    )
    return [
        f"--num-minibatches is {num_minibatches}, but with --lstm-size it must divide the {named}, since a minibatch is made "
        f"of whole sequences; the nearest that does is {nearest_divisor(sequences, num_minibatches)}."
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
    for name in config.learning.SCHEDULES:
        text = getattr(config.learning, name)
        try:
            schedule = parse_schedule(text, flag_of(name))
        except ConfigError as error:
            faults.append(str(error))
            continue
        if min(schedule.start, schedule.end) < 0:
            faults.append(f"{flag_of(name)} is {text}, but it must not go below 0.")
    return faults
