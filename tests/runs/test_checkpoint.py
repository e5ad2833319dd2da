"""Checkpoints: bit-exact round trips, and every way a file can be broken, foreign or unfit."""

from __future__ import annotations

import dataclasses
import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from courtside.errors import CheckpointError
from courtside.runs import checkpoint, pipeline, system_record
from courtside.runs.checkpoint import load, save
from courtside.settings.config import Config, PPOConfig
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec
from waiting import PATIENCE

SPEC = EnvSpec(name="four", observation=Box(-1.0, 1.0, (4,)), action=Discrete(2))
PIPELINE = pipeline.describe_pipeline(Config(), SPEC)
META = {"step": 512, "update": 1, "best": None, "pipeline": PIPELINE}


class Pair(NamedTuple):
    first: object
    second: object


def make_state(hidden: int = 8, num_envs: int = 3, seed: int = 0) -> dict[str, object]:
    """A state with everything in it that a run has."""
    params = eqx.nn.MLP(4, 2, hidden, 2, activation=jnp.tanh, key=jax.random.key(seed))
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3))
    opt_state = optimizer.init(eqx.filter(params, eqx.is_array))
    return {
        "params": params,
        "opt_state": opt_state,
        "key": jax.random.key(seed),
        "env": Pair(jnp.linspace(-1, 1, num_envs), {"alive": jnp.array([True] * num_envs), "keys": jax.random.split(jax.random.key(1), num_envs)}),
        "empty": (None, (), {}),
        "update": jnp.asarray(7, jnp.int32),
        "dotted": {"a.b": jnp.asarray(1.0), "a": {"b": jnp.asarray(2.0)}},
    }  # fmt: skip


def assert_bit_equal(a: object, b: object) -> None:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        if callable(x):
            assert x is y
            continue
        if hasattr(x, "dtype") and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            assert jax.random.key_impl(x) == jax.random.key_impl(y)
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        assert type(x) is type(y)
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def blank(leaf):
    """Another leaf of the same kind."""
    if isinstance(leaf, bool | int | float | np.generic):
        return type(leaf)(0)
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    return jnp.zeros_like(leaf) if isinstance(leaf, jax.Array) else np.zeros_like(leaf)


@pytest.fixture
def saved(tmp_path) -> Path:
    path = checkpoint.checkpoint_path(tmp_path, 1)
    save(path, make_state(), META)
    return path


# --- round trip ----------------------------------------------------------------------------------------------------


def test_round_trip_of_a_whole_state(saved):
    state, meta = load(saved, make_state(seed=9), PIPELINE)
    assert_bit_equal(state, make_state())
    assert meta == META


def test_template_may_be_shapes_only(saved):
    template = jax.tree.map(lambda x: x if callable(x) else jax.eval_shape(lambda: x), make_state(seed=9))
    assert_bit_equal(load(saved, template)[0], make_state())


def test_leaves_are_placed_on_the_default_device(saved):
    state, _ = load(saved, make_state())
    assert state["update"].committed
    assert state["update"].devices() == {jax.devices()[0]}


def test_every_dtype_and_special_value(tmp_path):
    numbers = {
        name: np.arange(-3, 3).astype(name)
        for name in ("int8", "int16", "int32", "uint8", "uint32", "float16", "float32")
    }
    state = {
        "jax": {name: jnp.asarray(x) for name, x in numbers.items()} | {"bf16": jnp.linspace(0, 1, 6, dtype=jnp.bfloat16).reshape(2, 3)},
        "numpy": numbers | {"float64": np.asarray([[0.1], [np.pi]]), "int64": np.asarray(2**60), "scalar": np.float64(0.1)},
        "special": jnp.asarray([np.nan, np.inf, -np.inf, -0.0, 1e-45], jnp.float32),
        "python": (True, 3, 0.1),
        "sizes": (jnp.zeros((0, 3)), jnp.asarray(False), jnp.ones((2, 1, 3))),
        "keys": (jax.random.key(3, impl="rbg"), jax.random.PRNGKey(4)),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    }  # fmt: skip
    save(tmp_path / "a.safetensors", state, {})
    template = jax.tree.map(blank, state)
    assert_bit_equal(load(tmp_path / "a.safetensors", template)[0], state)


trees = st.recursive(
    st.none() | hnp.arrays(st.sampled_from([np.float32, np.int32, np.bool_, np.uint8]), hnp.array_shapes(min_dims=0, max_side=3)),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text("a.%", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(trees)
def test_any_tree_comes_back(tmp_path, tree):
    save(tmp_path / "a.safetensors", tree, {"tree": "any"})
    restored, meta = load(tmp_path / "a.safetensors", jax.tree.map(np.zeros_like, tree))
    assert_bit_equal(restored, tree)
    assert meta == {"tree": "any"}


def test_same_state_same_bytes(tmp_path):
    for name in ("a", "b"):
        save(tmp_path / name, make_state(), META)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_leaf_names_can_be_read_by_any_safetensors_tool(saved):
    tensors = safetensors.numpy.load_file(saved)
    assert {"params.layers.0.weight", "opt_state.1.0.mu.layers.0.bias", "key", "env.second.alive"} <= set(tensors)
    np.testing.assert_array_equal(tensors["params.layers.0.weight"], make_state()["params"].layers[0].weight)


def test_record_describes_the_file(saved):
    with safetensors.safe_open(saved, framework="numpy") as file:
        record = json.loads(file.metadata()["courtside"])
    assert record["format"] == checkpoint.FORMAT
    assert record["pipeline_hash"] == pipeline.pipeline_hash(PIPELINE)
    assert record["leaves"]["params.layers.0.weight"]["shape"] == [8, 4]
    assert record["leaves"]["key"] == {**record["leaves"]["key"], "dtype": "key<fry>", "key": "threefry2x32"}


def test_meta_may_hold_numbers_that_json_lacks(tmp_path):
    save(tmp_path / "a", {}, {"best": float("-inf"), "by_rank": {2: "b", 10: "a"}})
    assert checkpoint.read_meta(tmp_path / "a") == {"best": float("-inf"), "by_rank": {"2": "b", "10": "a"}}


@pytest.mark.parametrize("leaf", ["text", 2**70, np.asarray([object()])])
def test_what_is_no_number_is_refused(tmp_path, leaf):
    with pytest.raises(CheckpointError, match="holds numbers only"):
        save(tmp_path / "a", {"odd": leaf}, {})
    assert list(tmp_path.iterdir()) == []


# --- broken and foreign files --------------------------------------------------------------------------------------


def test_missing(tmp_path):
    with pytest.raises(CheckpointError, match="There is no checkpoint at"):
        load(tmp_path / "none.safetensors", {})


def test_folder_in_its_place(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read"):
        load(tmp_path, {})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x10\x00\x00", "truncated: it ends inside its header"),
        (b"not a checkpoint at all, just some text", "not a safetensors file"),
        (pickle.dumps({"params": [1, 2, 3]}), "not a safetensors file"),
        (b"PK\x03\x04" + b"\0" * 100, "not a safetensors file"),
        (b"\0" * 100, "not a safetensors file"),
        (safetensors.numpy.save({"w": np.ones(3)}), "not a checkpoint of courtside"),
        (safetensors.numpy.save({"w": np.ones(3)}, {"format": "pt"}), "not a checkpoint of courtside"),
        (safetensors.numpy.save({"w": np.ones(3)}, {"courtside": "{}"}), "record cannot be read"),
        (safetensors.numpy.save({"w": np.ones(3)}, {"courtside": '{"format": 1}'}), "does not match its checksum"),
    ],
)
def test_foreign(tmp_path, content, words):
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=words):
        load(tmp_path / "a.safetensors", {})


def test_cut_at_every_length(tmp_path):
    path = tmp_path / "a.safetensors"
    save(path, {"w": jnp.arange(5)}, {"step": 1})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="is empty" if length == 0 else "truncated"):
            load(path, {"w": jnp.arange(5)})


def test_every_flipped_bit_is_found(tmp_path):
    path = tmp_path / "a.safetensors"
    save(path, {"w": jnp.arange(2), "n": np.zeros((0, 3))}, {"step": 1})
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in {position % 8, 5}:  # bit 5 turns letters from lower to upper case
            flipped = bytearray(whole)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            with pytest.raises(CheckpointError):
                checkpoint.read_meta(path)


def test_a_flipped_number_names_its_leaf(saved):
    content = bytearray(saved.read_bytes())
    weight = np.asarray(make_state()["params"].layers[1].weight).tobytes()
    content[content.index(weight) + 5] ^= 4
    saved.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"damaged: the numbers of params\.layers\.1\.weight do not match"):
        load(saved, make_state())


def test_newer_format(saved, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 3)
    save(saved, make_state(), META)
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError, match=r"has format 3, but this courtside reads formats up to 2.*Update courtside"
    ):
        load(saved, make_state())


def test_older_format(saved, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 1)
    save(saved, make_state(), META)
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError, match=r"has format 1, but this courtside reads format 2, .* train the run anew"
    ):
        load(saved, make_state())


# --- fit -----------------------------------------------------------------------------------------------------------


def test_other_layer_sizes(saved):
    with pytest.raises(CheckpointError) as caught:
        load(saved, make_state(hidden=16))
    message = str(caught.value)
    assert "params.layers.0.bias is float32 (8,) in the checkpoint, float32 (16,) here" in message
    assert "sizes of the network (--hidden-sizes, --shared-torso)" in message
    assert "more differ" in message


def test_other_layer_sizes_are_told_first_also_inside_a_run_of_several_learners(tmp_path):
    """The parameters of a run lie deep in its state, between other things that differ too."""
    states = [{"key": jnp.zeros(n), "learners": ({"params": jnp.zeros(n), "count": jnp.zeros(n)},)} for n in (2, 3)]
    save(tmp_path / "run.safetensors", states[0], META)
    with pytest.raises(CheckpointError, match=r"does not fit: learners\.0\.params is .*--hidden-sizes, --shared-torso"):
        load(tmp_path / "run.safetensors", states[1])


def test_another_version_is_named_in_place_of_settings(saved, monkeypatch):
    monkeypatch.setattr(checkpoint, "__version__", "9.9.9")
    with pytest.raises(CheckpointError, match=r"another version \(courtside .*, this is 9\.9\.9\)") as caught:
        load(saved, make_state(num_envs=5))
    assert "--num-envs" not in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(checkpoint, "git_commit", lambda: "new")
    for commit, told in (("old", "commit old, this is commit new"), ("new", "--num-envs"), (None, "--num-envs")):
        system = {"sessions": [{"git_commit": commit}]}
        (saved.parents[1] / system_record.SYSTEM).write_text(json.dumps(system))
        with pytest.raises(CheckpointError, match=told):
            load(saved, make_state(num_envs=5))


def test_other_number_of_envs(saved):
    with pytest.raises(
        CheckpointError, match=r"env\.first is float32 \(3,\) in the checkpoint, float32 \(5,\) here.*--num-envs"
    ):
        load(saved, make_state(num_envs=5))


def test_leaf_too_many_or_too_few(saved):
    template = make_state()
    template["extra"] = jnp.zeros(2)
    del template["update"]
    with pytest.raises(
        CheckpointError,
        match=r"extra is absent in the checkpoint, float32 \(2,\) here; update is int32 \(\) in the checkpoint, absent here",
    ):
        load(saved, template)


def test_other_dtype(saved):
    template = make_state()
    template["update"] = jnp.asarray(0.0)
    with pytest.raises(CheckpointError, match=r"update is int32 \(\) in the checkpoint, float32 \(\) here"):
        load(saved, template)


def test_other_preprocessing_is_refused_with_the_difference(saved):
    spec = dataclasses.replace(SPEC, observation=Box(-1.0, 2.0, (4,)))
    other = pipeline.describe_pipeline(Config(learning=PPOConfig(norm_obs=True)), spec)
    with pytest.raises(CheckpointError) as caught:
        load(saved, make_state(hidden=16), other)
    message = str(caught.value)
    assert "other preprocessing" in message
    for line in pipeline.difference(PIPELINE, json.loads(json.dumps(other))):
        assert line in message
    assert "normalize_obs: None in the checkpoint, {'clip': 10.0} here" in message


# --- the folder ----------------------------------------------------------------------------------------------------


@pytest.fixture
def run_dir(tmp_path) -> Path:
    for update in (9, 10, 100_000_000, 11):
        save(checkpoint.checkpoint_path(tmp_path, update), make_state(seed=update % 97), {**META, "update": update})
    save(checkpoint.best_path(tmp_path), make_state(seed=5), META)
    return tmp_path


def updates(paths) -> list[int]:
    return [int(path.stem.split("-")[1]) for path in paths]


def test_newest_first_by_number(run_dir):
    folder = run_dir / "checkpoints"
    (folder / ".update-00000012.safetensors.tmp").write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    assert updates(checkpoint.find_checkpoints(folder)) == [100_000_000, 11, 10, 9]
    assert (folder / "update-00000009.safetensors").exists()


def test_prune_keeps_the_newest_and_the_best(run_dir):
    checkpoint.prune(run_dir / "checkpoints", 2)
    assert updates(checkpoint.find_checkpoints(run_dir / "checkpoints")) == [100_000_000, 11]
    assert checkpoint.best_path(run_dir).exists()


def test_broken_newest_are_passed_over_and_named(run_dir):
    folder = run_dir / "checkpoints"
    newest, second, third, _ = checkpoint.find_checkpoints(folder)
    newest.write_bytes(newest.read_bytes()[:-10])
    second.write_bytes(b"")
    path, skipped = checkpoint.newest_whole(folder)
    assert path == third
    assert [p for p, _ in skipped] == [newest, second]
    assert "truncated" in skipped[0][1]
    assert "empty" in skipped[1][1]
    text = checkpoint.describe_skipped(path, skipped)
    assert "Going on from update-00000010.safetensors, the newest whole one." in text
    state, meta, again = checkpoint.load_latest(run_dir, make_state(), PIPELINE)
    assert meta["update"] == 10
    assert again == skipped
    assert_bit_equal(state, make_state(seed=10))


def test_a_broken_file_asked_for_by_name_offers_the_newest_whole_one(run_dir):
    newest, second, *_ = checkpoint.find_checkpoints(run_dir / "checkpoints")
    newest.write_bytes(newest.read_bytes()[:100])
    with pytest.raises(CheckpointError, match=f"truncated.*newest whole checkpoint beside it is .*{second.name}"):
        load(newest, make_state())


def test_none_at_all(tmp_path):
    with pytest.raises(CheckpointError, match="none was saved yet, or they were removed"):
        checkpoint.newest_whole(tmp_path / "checkpoints")
    assert checkpoint.describe_skipped(tmp_path / "a", []) == ""


def test_none_whole(run_dir):
    for path in checkpoint.find_checkpoints(run_dir / "checkpoints"):
        path.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"No checkpoint in .* is whole"):
        checkpoint.load_latest(run_dir, make_state())


# --- the disk ------------------------------------------------------------------------------------------------------

FULL_DISK = """
import resource, subprocess, sys
from pathlib import Path
import jax.numpy as jnp
from courtside.runs import checkpoint
from courtside.envs.base import EnvSpec
from courtside.errors import CheckpointError
run = Path(sys.argv[1])
if sys.argv[2] == "tmpfs":
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", run], capture_output=True).returncode:
        print("no mount"); sys.exit()
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
path = checkpoint.checkpoint_path(run, 1)
checkpoint.save(path, {"w": jnp.ones(10)}, {"update": 1})
try:
    checkpoint.save(checkpoint.checkpoint_path(run, 2), {"w": jnp.ones(100_000)}, {"update": 2})
except CheckpointError as error:
    print(error)
print([p.name for p in path.parent.iterdir()], checkpoint.load_latest(run, {"w": jnp.zeros(10)})[1])
"""


@pytest.mark.parametrize(("kind", "words"), [("tmpfs", "the disk is full"), ("limit", "size limit")])
def test_disk_full_during_a_save(tmp_path, kind, words):
    private = ["unshare", "-rm"] if kind == "tmpfs" else []
    if private and not shutil.which("unshare"):
        pytest.skip("no unshare here")
    command = [*private, sys.executable, "-c", FULL_DISK, str(tmp_path), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if private and (done.returncode or "no mount" in done.stdout):
        pytest.skip("no private mount allowed here")
    assert done.returncode == 0, done.stderr
    message, rest = done.stdout.splitlines()
    assert words in message
    assert "update-00000002" in message
    assert "what was saved before is intact" in message
    assert rest == "['update-00000001.safetensors'] {'update': 1}"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "checkpoints").write_text("a file")
    with pytest.raises(CheckpointError, match="Could not write"):
        save(checkpoint.checkpoint_path(tmp_path, 1), {}, {})


def test_a_part_of_the_state_can_be_read_alone(saved):
    template = {"params": make_state(seed=9)["params"]}
    with pytest.raises(CheckpointError, match="absent here"):
        load(saved, template)
    state, _ = load(saved, template, part=True)
    assert_bit_equal(state["params"], make_state()["params"])
    with pytest.raises(CheckpointError, match=r"novel is absent in the checkpoint"):
        load(saved, {"novel": jnp.zeros(1)}, part=True)
