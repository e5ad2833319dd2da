"""Save and restore any state bit for bit: one safetensors file per checkpoint, its description as JSON inside.

The file's metadata holds one JSON record under the key `courtside`: format, versions, the caller's `meta` (step, update,
pipeline, ...), and name, dtype, shape and CRC-32 of every leaf. A SHA-256 over that record guards the record itself, so
a single flipped bit anywhere is found. Nothing is pickled. See docs/run-folder.md.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from courtside import __version__, files
from courtside.errors import CheckpointError
from courtside.runs import runlog
from courtside.runs.pipeline import difference, pipeline_hash
from courtside.runs.system_record import git_commit, last_commit
from courtside.types import is_key, numbers_of

FORMAT = 2
FOLDER = runlog.CHECKPOINTS
_KEY = "courtside"
_NAME = re.compile(r"update-(\d+)\.safetensors")
_LAYER = re.compile(r"((?:.*\.)?params\..*torso)\.layers\.(\d+)\.bias")
"""Hidden layers by the name of their bias."""
_FREE = ("env_state.saved",)
"""Leaves whose length may differ from the template's: bytes in which envs outside JAX keep where they stand."""
_NATIVE = {"bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""Dtypes stored as they are; others (bfloat16, ...) are stored as bytes, with their name in the record."""


class OldFormatError(CheckpointError):
    """Whole, but written by a version that laid out its networks otherwise."""


def checkpoint_path(run_dir: str | Path, update: int) -> Path:
    return Path(run_dir) / FOLDER / f"update-{update:08d}.safetensors"


def best_path(run_dir: str | Path) -> Path:
    return Path(run_dir) / runlog.BEST / "best.safetensors"


def policies(learners: Any) -> dict[str, Any]:
    """The policies of all groups under the names that they have in a whole TrainState: what acting reads of any checkpoint."""
    return {"learners": learners}


def save(path: str | Path, state: Any, meta: dict[str, Any]) -> None:
    """Write the whole state and `meta` (JSON data; its `pipeline` is hashed) to one file, atomically."""
    path = Path(path)
    leaves = _saved_leaves(state)
    fetched = jax.device_get({name: numbers_of(leaf) for name, leaf in leaves.items()})
    tensors = {name: _storable(name, np.asarray(array)) for name, array in fetched.items()}
    kinds = {name: {"key": str(jax.random.key_impl(leaf))} if is_key(leaf) else {} for name, leaf in leaves.items()}
    entries = {name: _describe(leaf) | {"crc32": _checksum(tensors[name])} for name, leaf in leaves.items()}
    record = {
        "format": FORMAT, "courtside": __version__, "pipeline_hash": pipeline_hash(meta.get("pipeline") or {}),
        "meta": meta, "leaves": {name: entry | kinds[name] for name, entry in entries.items()},
    }  # fmt: skip
    files.make_folder(path.parent)
    files.write_bytes(path, safetensors.save(tensors, metadata={_KEY: _seal(record)}))


def load(
    path: str | Path, template: Any, pipeline: dict[str, Any] | None = None, *, part: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Read a checkpoint into the shape of `template` (arrays or `jax.eval_shape`'s structs); returns state and meta.

    Functions and other leaves that are no numbers come from the template. With `pipeline` given, a checkpoint made
    with other preprocessing is refused. With `part`, the template may leave out some of what the checkpoint holds.
    """
    path = Path(path)
    try:
        record, tensors = _read(path)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{_offer(path)}") from error
    if pipeline is not None:
        _check_pipeline(path, record, pipeline)
    wanted = _saved_leaves(template)
    stored = {name: entry for name, entry in record["leaves"].items() if name in wanted or not part}
    _check_fit(path, stored, {name: _describe(leaf) for name, leaf in wanted.items()}, record)
    restored = {name: _restore(leaf, record["leaves"][name], tensors[name]) for name, leaf in wanted.items()}
    paths, treedef = jax.tree_util.tree_flatten_with_path(template)
    return jax.tree_util.tree_unflatten(treedef, [restored.get(_name(p), leaf) for p, leaf in paths]), record["meta"]


def read_meta(path: str | Path) -> dict[str, Any]:
    """The `meta` of a checkpoint, after checking that the file is whole."""
    return _read(Path(path))[0]["meta"]


def find_checkpoints(folder: str | Path) -> list[Path]:
    """The checkpoints in a `checkpoints/` folder, newest first; whether they are whole is not looked at."""
    numbered = [(int(match[1]), path) for path in Path(folder).glob("*") if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(numbered, reverse=True)]


def newest_update(run_dir: str | Path) -> int:
    """The update of a run's newest checkpoint, as its name tells; 0 where there is none."""
    matches = (_NAME.fullmatch(path.name) for path in find_checkpoints(Path(run_dir) / FOLDER))
    return next((int(match[1]) for match in matches if match), 0)


def newest_whole(folder: str | Path) -> tuple[Path, list[tuple[Path, str]]]:
    """The newest checkpoint that is whole, and the newer ones that are not, each with the reason."""
    skipped: list[tuple[Path, str]] = []
    for path in find_checkpoints(folder):
        try:
            _read(path)
        except OldFormatError:
            raise  # whatever lies beneath it is as old
        except CheckpointError as error:
            skipped.append((path, str(error)))
        else:
            return path, skipped
    if skipped:
        reasons = " ".join(reason for _, reason in skipped)
        raise CheckpointError(f"No checkpoint in {folder} is whole. {reasons}")
    raise CheckpointError(
        f"There is no checkpoint in {folder}: none was saved yet, or they were removed. `courtside resume` starts the run again."
    )


def describe_skipped(path: str | Path, skipped: list[tuple[Path, str]]) -> str:
    """What to tell the user when `path` is used in place of newer, broken checkpoints; empty if there were none."""
    reasons = " ".join(reason for _, reason in skipped)
    return f"{reasons} Going on from {Path(path).name}, the newest whole one." if skipped else ""


def prune(folder: str | Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints; `best/` lies apart and is never touched."""
    for path in find_checkpoints(folder)[keep:]:
        path.unlink(missing_ok=True)


# --- leaves -------------------------------------------------------------------------------------------------------


def _saved_leaves(tree: Any) -> dict[str, Any]:
    """The leaves that hold numbers, by dotted name; functions (activations) belong to the code, not to the file."""
    leaves = {_name(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]}
    return {name: leaf for name, leaf in leaves.items() if not callable(leaf)}


def _name(path: tuple[Any, ...]) -> str:
    """`params.layers.0.weight`; a dot inside a dict key is escaped, so that no two leaves share a name."""
    parts = [jax.tree_util.keystr((part,), simple=True) for part in path]
    return ".".join(part.replace("%", "%25").replace(".", "%2E") for part in parts) or "state"


def _describe(leaf: Any) -> dict[str, Any]:
    """Dtype and shape of a leaf: what must agree between file and template."""
    if isinstance(leaf, bool | int | float):
        return {"dtype": f"python {type(leaf).__name__}", "shape": []}
    if not hasattr(leaf, "dtype"):
        raise CheckpointError(f"A checkpoint holds numbers only, but the state holds {leaf!r} ({type(leaf).__name__}).")
    return {"dtype": str(leaf.dtype), "shape": list(leaf.shape)}


def _checksum(tensor: np.ndarray) -> int:
    """Over the bytes and over what they mean, so that a changed shape or dtype is found too."""
    numbers = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)  # no copy: a replay is large
    return zlib.crc32(numbers.data, zlib.crc32(f"{tensor.dtype} {tensor.shape}".encode()))


def _restore(leaf: Any, entry: dict[str, Any], array: np.ndarray) -> Any:
    """The stored numbers as the kind of thing that the template has in this place."""
    if isinstance(leaf, bool | int | float):
        return type(leaf)(array.item())
    if not is_key(leaf) and entry["dtype"] not in _NATIVE:
        array = array.view(leaf.dtype).reshape(entry["shape"])
    if isinstance(leaf, np.ndarray | np.generic):
        return array.copy() if isinstance(leaf, np.ndarray) else array[()]
    placed = jax.device_put(array, getattr(jax.config, "jax_default_device", None) or jax.local_devices()[0])
    return jax.random.wrap_key_data(placed, impl=entry["key"]) if is_key(leaf) else placed


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    """The array in row order, or its bytes where safetensors has no such dtype."""
    if array.dtype == object:
        raise CheckpointError(f"A checkpoint holds numbers only, but {name} holds {array!r}.")
    if array.dtype.name not in _NATIVE:
        return np.frombuffer(array.tobytes(), np.uint8)
    return np.ascontiguousarray(array).reshape(array.shape)  # safetensors writes memory as it lies, whatever the order


# --- the file ------------------------------------------------------------------------------------------------------


def _seal(record: dict[str, Any]) -> str:
    """The record as JSON text with a checksum over itself."""
    record = json.loads(json.dumps(record))  # keys become text first, so that reading back sorts them the same
    return json.dumps({**record, "sha256": _digest(record)}, sort_keys=True)


def _digest(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Record and tensors of a whole checkpoint, or the reason why it is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"There is no checkpoint at {path}.") from error
    except OSError as error:
        raise CheckpointError(f"Checkpoint {path} cannot be read: {error.strerror}.") from error
    record = _unseal(path, _header(path, data))
    try:
        tensors = safetensors.load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"Checkpoint {path} is damaged: {error}.") from error
    _check_content(path, record["leaves"], tensors)
    return record, tensors


def _header(path: Path, data: bytes) -> dict[str, Any]:
    """The safetensors header; tells a cut-off file from a foreign one."""
    if not data:
        raise CheckpointError(f"Checkpoint {path} is empty (0 bytes): its save was cut off.")
    length = int.from_bytes(data[:8], "little")
    if data[8:9] not in (b"{", b"") or (len(data) > 8 and length < 2):
        raise CheckpointError(f"{path} is not a checkpoint: it is not a safetensors file.")
    if len(data) < 8 + length:
        raise CheckpointError(f"Checkpoint {path} is truncated: it ends inside its header, after {len(data)} bytes.")
    try:
        header = json.loads(data[8 : 8 + length])
        offsets = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        size = 8 + length + max(offsets, default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise CheckpointError(f"Checkpoint {path} is damaged or foreign: its header cannot be read.") from error
    if len(data) < size:
        raise CheckpointError(f"Checkpoint {path} is truncated: it has {len(data)} of {size} bytes.")
    return header


def _unseal(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """Our record from the header, checked against its own checksum."""
    text = (header.get("__metadata__") or {}).get(_KEY)
    if text is None:
        raise CheckpointError(f"{path} is a safetensors file, but not a checkpoint of courtside: it lacks our record.")
    try:
        record = json.loads(text)
        stated, version = record.pop("sha256", None), int(record["format"])
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise CheckpointError(f"Checkpoint {path} is damaged: its record cannot be read.") from error
    if version > FORMAT:
        raise CheckpointError(
            f"Checkpoint {path} has format {version}, but this courtside reads formats up to {FORMAT}; "
            f"it was written by courtside {record.get('courtside')}. Update courtside to use it."
        )
    if stated != _digest(record):
        raise CheckpointError(f"Checkpoint {path} is damaged: its record does not match its checksum.")
    if version < FORMAT:
        raise OldFormatError(
            f"Checkpoint {path} has format {version}, but this courtside reads format {FORMAT}, whose tensors have "
            "other names. Use the earlier version that wrote it, or train the run anew."
        )
    return record


def _check_content(path: Path, leaves: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    if set(leaves) != set(tensors):
        odd = sorted(set(leaves) ^ set(tensors))[0]
        raise CheckpointError(f"Checkpoint {path} is damaged: its record and its tensors disagree about {odd}.")
    for name, entry in leaves.items():
        if _checksum(tensors[name]) != entry["crc32"]:
            raise CheckpointError(f"Checkpoint {path} is damaged: the numbers of {name} do not match their checksum.")


# --- does it fit ---------------------------------------------------------------------------------------------------


def _check_pipeline(path: Path, record: dict[str, Any], pipeline: dict[str, Any]) -> None:
    if record["pipeline_hash"] == pipeline_hash(pipeline):
        return
    here = json.loads(json.dumps(pipeline))
    lines = difference(record["meta"].get("pipeline") or {}, here)
    raise CheckpointError(
        f"Checkpoint {path} was made with other preprocessing, so its network would be shown other numbers. "
        + "; ".join(lines)
        + f". {_other_version(path, record) or 'Use the settings that the run was trained with.'}"
    )


def _check_fit(path: Path, stored: dict[str, Any], wanted: dict[str, dict[str, Any]], record: dict[str, Any]) -> None:
    """Refuse a checkpoint whose leaves differ from the template's, naming the first few."""
    faults = []
    for name in sorted(set(stored) | set(wanted)):
        old, new = stored.get(name), wanted.get(name)
        is_free = name in _FREE and old and new and old["dtype"] == new["dtype"]
        if not is_free and _words(old) != _words(new):
            faults.append(f"{name} is {_words(old)} in the checkpoint, {_words(new)} here")
    if not faults:
        return
    there, here = _hidden_layers(record["leaves"]), _hidden_layers(wanted)
    if there and here and there != here:
        raise CheckpointError(
            f"Checkpoint {path} does not fit: its network has hidden layers of {there} units, the one here of {here}. "
            "The layer sizes (--hidden-sizes) must be the same as in the run."
        )
    faults.sort(key=lambda fault: not _is_of_network(fault))
    more = f", and {len(faults) - 3} more differ" if len(faults) > 3 else ""
    hint = _other_version(path, record) or f"{_fit_hint(faults, wanted)} must be the same as in the run."
    raise CheckpointError(f"Checkpoint {path} does not fit: {'; '.join(faults[:3])}{more}. {hint}")


def _other_version(path: Path, record: dict[str, Any]) -> str:
    """That another version wrote it, which explains a difference better than settings do; empty where none is known of."""
    commits = last_commit(path.parent.parent), git_commit()
    if record.get("courtside") != __version__:
        there, here = f"courtside {record.get('courtside')}", __version__
    elif commits[0] and commits[1] and commits[0] != commits[1]:
        there, here = (f"commit {commit[:10]}{'-dirty' * commit.endswith('-dirty')}" for commit in commits if commit)
    else:
        return ""
    return f"It was written by another version ({there}, this is {here}): use that one, or train the run anew."


def _hidden_layers(leaves: dict[str, dict[str, Any]]) -> str:
    """Units of the hidden layers of the first network among the leaves, in order: `64, 64`."""
    matches = [(match, entry["shape"]) for name, entry in leaves.items() if (match := _LAYER.fullmatch(name))]
    first = min((match[1] for match, _ in matches), default="")
    layers = sorted((int(match[2]), shape[-1]) for match, shape in matches if match[1] == first)
    return ", ".join(str(units) for _, units in layers)


def _words(entry: dict[str, Any] | None) -> str:
    return "absent" if entry is None else f"{entry['dtype']} {tuple(entry['shape'])}"


def _fit_hint(faults: list[str], wanted: dict[str, Any]) -> str:
    """Which settings decide the shapes that differ, of those that the run has."""
    has_replay = any(name.startswith("memory.") for name in wanted)
    if _is_of_network(faults[0]):
        other = "--num-atoms, --ensemble" if has_replay else "--shared-torso"
        return f"The sizes of the network (--hidden-sizes, {other}) and the env"
    replay = ", --num-steps, --rollout, --buffer-size" if has_replay else ""
    return f"The env, --num-envs{replay} and the layer sizes (--hidden-sizes)"


def _is_of_network(fault: str) -> bool:
    """Whether a fault names a leaf of the parameters: `learners.0.params.policy_head.bias is ...`."""
    return not {"params", "critic"}.isdisjoint(fault.split(" ", 1)[0].split("."))


def _offer(path: Path) -> str:
    """Point to another checkpoint of the same folder when this one cannot be used."""
    for other in find_checkpoints(path.parent):
        if other != path:
            try:
                _read(other)
            except CheckpointError:
                continue
            return f" The newest whole checkpoint beside it is {other}."
    return ""
