import dataclasses
import shlex
import subprocess
import sys

import pytest

from courtside.cli.flags import read_config, split
from courtside.errors import ConfigError
from courtside.settings.config import Config, override
from courtside.settings.presets import PRESETS, find_preset

PARTS = ("run", "env", "net", "ppo")


def changes(line: str, base: Config | None = None) -> dict[str, object]:
    """What a command line changes, by flat name; the preset is cartpole where it names neither preset nor world."""
    words = shlex.split(line)
    is_named = split(words).preset or "env_id" in split(words).values
    config, base = read_config(words if is_named else ["cartpole", *words])[0], base or find_preset("cartpole")
    flat = [{f.name: getattr(getattr(c, p), f.name) for p in PARTS for f in dataclasses.fields(getattr(c, p))} for c in (config, base)]  # fmt: skip
    return {name: value for name, value in flat[0].items() if value != flat[1][name]}


def differing(found: dict[str, object]) -> dict[str, object]:
    """Those settings that are not the preset's own."""
    base = find_preset("cartpole")
    preset = {f.name: getattr(getattr(base, p), f.name) for p in PARTS for f in dataclasses.fields(getattr(base, p))}
    return {name: value for name, value in found.items() if value != preset[name]}


def refusal(line: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(shlex.split(line))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_typed_is_the_default_preset():
    assert read_config([]) == (find_preset("redblue"), [])
    assert read_config(["cartpole"]) == (find_preset("cartpole"), [])


CLEANRL = (
    "--exp-name ppo --seed 3 --torch-deterministic --cuda --track --wandb-project-name cleanRL --wandb-entity me "
    "--capture-video --env-id CartPole-v1 --total-timesteps 100000 --learning-rate 1e-3 --num-envs 8 --num-steps 64 "
    "--no-anneal-lr --gamma 0.98 --gae-lambda 0.9 --num-minibatches 2 --update-epochs 3 --no-norm-adv --clip-coef 0.1 "
    "--no-clip-vloss --ent-coef 0.0 --vf-coef 0.4 --max-grad-norm 1.0 --target-kl 0.02"
)
SAME = {
    "exp_name": "ppo", "seed": 3, "wandb": True, "wandb_project": "cleanRL", "env_id": "CartPole-v1",
    "total_timesteps": 100_000, "learning_rate": "1e-3", "num_envs": 8, "num_steps": 64, "anneal_lr": False,
    "gamma": 0.98, "gae_lambda": 0.9, "num_minibatches": 2, "update_epochs": 3, "norm_adv": False, "clip_coef": "0.1",
    "clip_vloss": False, "ent_coef": "0.0", "vf_coef": 0.4, "max_grad_norm": 1.0, "target_kl": 0.02,
}  # fmt: skip


def test_cleanrl_command_line_works():
    assert changes(CLEANRL) == differing(SAME)
    assert len(read_config(shlex.split(CLEANRL))[0].thresholds) == 1


def test_cleanrl_command_line_with_underscores_and_written_out_booleans():
    line = CLEANRL.replace("--no-anneal-lr", "--anneal-lr False").replace("--no-norm-adv", "--norm-adv=0")
    line = line.replace("--no-clip-vloss", "--clip-vloss false").replace("--track", "--track True")
    dashed = " ".join(word.replace("-", "_").replace("__", "--", 1) if word.startswith("--") else word for word in line.split())  # fmt: skip
    assert "--num_envs" in dashed
    assert changes(dashed) == differing(SAME)


def test_flags_without_effect_are_named_in_one_note():
    _, notes = read_config(
        shlex.split("--cuda False --torch_deterministic --no-capture-video --save-model --hf-entity me")
    )
    assert notes == [
        "Accepted from CleanRL, but without effect here: "
        "--cuda, --torch-deterministic, --capture-video, --save-model, --hf-entity."
    ]


@pytest.mark.parametrize("word", ["True", "true", "1", "yes"])
def test_switch_takes_a_yes(word):
    assert changes(f"--shared-torso {word}") == changes("--shared-torso") == {"shared_torso": True}


@pytest.mark.parametrize("line", ["--anneal-lr False", "--anneal-lr=0", "--no-anneal-lr", "--no-anneal-lr True"])
def test_switch_takes_a_no(line):
    assert changes(line) == {"anneal_lr": False}


def test_switch_leaves_the_preset_behind_it_alone():
    assert split(["--anneal-lr", "cartpole"]).preset == "cartpole"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("--num-envs=64", {"num_envs": 64}),
        ("--total-timesteps 1e6", {"total_timesteps": 1_000_000}),
        ("--target-kl None", {}),
        ("--target-kl none", {}),
        ("--eval-every -1 --eval-every 0", {"eval_every": 0}),
        ("--hidden-sizes 32 16 8", {"hidden_sizes": (32, 16, 8)}),
        ("--hidden-sizes=32,16", {"hidden_sizes": (32, 16)}),
        ("--hidden-sizes 32 cartpole", {"hidden_sizes": (32,)}),
        ("--learning-rate 'linear(1e-3, 0)'", {"learning_rate": "linear(1e-3, 0)"}),
        ("--exp-name=a=b", {"exp_name": "a=b"}),
        ("--env-options view_size=5 mode=fixed", {"env_options": ("view_size=5", "mode=fixed")}),
        ("--env_options=a=1 b=2 --env-options a=3", {"env_options": ("a=3", "b=2")}),
        ("--env-options a=1 cartpole", {"env_options": ("a=1",)}),
        ("--opponent blue=random", {"opponents": ("blue=random",)}),
        (
            "--opponents blue_0=noop blue_1=runs/x:greedy --opponent red=learn",
            {"opponents": ("blue_0=noop", "blue_1=runs/x:greedy", "red=learn")},
        ),
        ("--workers threads --on-worker-failure restart", {"workers": "threads", "on_worker_failure": "restart"}),
    ],
)
def test_spellings(line, found):
    assert changes(line) == found


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--num-env 3", "There is no flag named '--num-env'. Did you mean --num-envs"),
        ("-s 3", "There is no flag named '-s'."),
        ("--no-seed", "There is no flag named '--no-seed'. Did you mean --seed"),
        ("--preset x", "There is no flag named '--preset'."),
        ("--thresholds x", "There is no flag named '--thresholds'."),
        ("cartpol", "There is no preset named 'cartpol'. Did you mean cartpole"),
        ("acrobot", "It is a world: did you mean --env-id acrobot?"),
        ("gym:Acrobot-v1", "did you mean --env-id gym:Acrobot-v1?"),
        ("--env-id cartpol", "There is no env named 'cartpol'. Did you mean cartpole?"),
        ("cartpole acrobot", "there can be one preset"),
        ("--seed", "--seed needs a value behind it"),
        ("--seed --gamma 1", "--seed needs a value behind it"),
        ("--seed x", "--seed is 'x', but it must be a whole number."),
        ("--seed 1.5 --gamma y", "--seed is '1.5', but it must be a whole number. --gamma is 'y', but it must be a number."),
        ("--workers some", "--workers is 'some', but it must be one of auto, serial, threads, processes."),
        ("--hidden-sizes wide", "--hidden-sizes is 'wide', but it must be one or more whole numbers, such as 64 64."),
        ("--layer-sizes banana", "--layer-sizes is 'banana', but it must be one or more whole numbers"),
        ("--target-kl low", "--target-kl is 'low', but it must be a number or None."),
        ("--anneal-lr=maybe", "--anneal-lr is 'maybe', but it must be True or False."),
        ("--env-options", "--env-options needs a value behind it"),
        ("--env-options view_size 5", "--env-options has the word 'view_size', but each must be NAME=VALUE, such as view_size=5."),
        ("--opponent random", "--opponent has the word 'random', but each must be NAME=VALUE, such as blue=random."),
        ("--num-minibatches 3", "--num-minibatches is 3, but it must divide"),
        ("pendulum-d4pg --clip-coef 0.1", "--clip-coef belongs to --algo ppo, but this run trains with d4pg; leave it out."),
        ("tennis --learning-rate 1e-3", "trains with mad4pg; use --actor-learn-rate and --critic-learn-rate."),
        ("tennis --lr 1e-3", "--lr belongs to --algo ppo, but this run trains with mad4pg; use --actor-learn-rate and --cri"),
        ("cartpole --vmax 1", "--vmax belongs to --algo ddpg, d4pg, maddpg or mad4pg, but this run trains with ppo; leave it out."),
        ("cartpole --algo sac", "--algo is 'sac', but it must be one of ppo, ddpg, d4pg, maddpg, mad4pg."),
        ("pendulum-d4pg --vmin 1 --num-atoms 1", "but vmin must be below vmax"),
        ("--num-envs 0 --gamma 2", "--num-envs is 0, but it must be above 0. --gamma is 2.0"),
    ],
)  # fmt: skip
def test_refusals(line, sentence, capfd):
    assert sentence in refusal(line)
    assert capfd.readouterr() == ("", "")


def test_another_world_without_preset_starts_from_the_plain_defaults():
    config, _ = read_config(["--env-id", "acrobot"])
    assert (config.preset, config.thresholds) == ("custom", ())
    assert changes("--env-id acrobot", base=Config()) == {"env_id": "acrobot"}


def test_another_world_under_a_preset_drops_its_thresholds_and_says_so():
    config, notes = read_config(["cartpole", "--env-id", "pendulum"])
    assert (config.preset, config.thresholds) == ("cartpole", ())
    assert notes == ["The thresholds of the preset 'cartpole' are for cartpole, so this run has no verdict."]
    assert "--require-pass needs thresholds" in refusal("cartpole --env-id pendulum --require-pass")


@pytest.mark.parametrize("env_id", ["cartpole", "CartPole-v1", "gym:CartPole-v1"])
def test_same_world_by_any_name_keeps_its_thresholds(env_id):
    config, notes = read_config(["--env-id", env_id, "--require-pass"])
    assert config.thresholds == find_preset("cartpole").thresholds
    assert config.preset == "cartpole"
    assert notes == ["Settings that are not given are those of the preset 'cartpole', which is for this world."]


def test_words_are_added_to_those_of_the_preset(monkeypatch):
    base = override(find_preset("cartpole"), env_options=["a=1", "b=2"], opponents=["blue=random"])
    monkeypatch.setitem(PRESETS, "cartpole", ("", base))
    config, notes = read_config(shlex.split("cartpole --env-options b=3 --opponent blue=noop"))
    assert config.env.env_options == ("a=1", "b=3")
    assert config.env.opponents == ("blue=noop",)
    assert notes == [
        "This run is judged by the thresholds of the preset 'cartpole', although its options were changed "
        "(b=3 blue=noop), so they may be out of reach."
    ]
    assert read_config(shlex.split("cartpole --env-options a=1"))[1] == []


def test_another_world_drops_the_words_of_the_preset(monkeypatch):
    base = override(find_preset("cartpole"), env_options=["a=1"], opponents=["blue=random"])
    monkeypatch.setitem(PRESETS, "cartpole", ("", base))
    config, notes = read_config(shlex.split("cartpole --env-id pendulum --env-options c=1"))
    assert (config.env.env_options, config.env.opponents) == (("c=1",), ())
    assert len(notes) == 1


NOTEBOOK = (
    "--layer-sizes 350 250 --actor-learn-rate 2.5e-4 --critic-learn-rate 5e-4 --update-type hard --C 1e3 --tau 1e-4 --e 0.2 "
    "--e-min 0.01 --anneal-max 0.5 --vmin -0.2 --vmax 1.5 --num-atoms 51 --batch-size 64 --buffer-size 1e5 --pretrain 500 "
    "--rollout 3 --quit-threshold 0.9 --gamma 0.95 --num-steps 2"
)


def test_flags_of_the_family_carry_the_notebooks_names():
    config, notes = read_config(["pendulum-d4pg", *shlex.split(NOTEBOOK)])
    own = config.mad4pg
    assert (config.net.hidden_sizes, config.run.quit_threshold, own.C, own.e) == ((350, 250), 0.9, 1000, "0.2")
    assert (own.vmin, own.batch_size, own.buffer_size, own.gamma, own.num_steps) == (-0.2, 64, 100_000, 0.95, 2)
    assert notes == []


def test_the_algorithm_is_read_before_the_other_flags():
    config, _ = read_config(shlex.split("--tau 0.5 --env-id pendulum --algo=d4pg --gamma 0.9"))
    assert (config.preset, config.mad4pg.tau, config.mad4pg.gamma) == ("pendulum-d4pg", 0.5, 0.9)
    config, notes = read_config(shlex.split("pendulum --algo ddpg --activation tanh"))
    assert (config.net.activation, config.net.learners, config.run.algo) == ("tanh", "independent", "ddpg")
    assert "starts from plain defaults" in notes[0]
    assert "--batch-size" in read_config(["cartpole", "--batch-size", "512"])[1][0], "CleanRL's"


@pytest.mark.parametrize(
    ("args", "family"), [(["--help"], "ppo"), (["cartpole", "-h"], "ppo"), (["--algo", "mad4pg", "--help"], "mad4pg")]
)
def test_help_is_grouped_and_complete(args, family):
    code = f"from courtside.cli.flags import read_config; read_config({args!r})"
    page = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    groups = (*PARTS[:3], family)
    parts = [page.index(f"{part} options") for part in groups]
    assert parts == sorted(parts)
    for part in groups:
        for setting in dataclasses.fields(getattr(Config(), part)):
            assert "--" + setting.name.replace("_", "-") in page
    assert "--preset" not in page
    assert ("--clip-coef" in page) == (family == "ppo")
    assert "Copies of the world stepped side by side" in page
