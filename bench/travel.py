"""Pack a run for the way to another machine, small and in pieces, and unpack it there.

    python bench/travel.py pack RUN FOLDER --mb 15        # FOLDER/NAME.tar.gz.1-of-2, FOLDER/NAME.tar.gz.2-of-2
    python bench/travel.py unpack FOLDER RUNS_DIR         # then: courtside resume RUNS_DIR/NAME

Along goes what `courtside resume` and `courtside eval` read: settings, logs, the newest whole checkpoint, the best policy.
Older checkpoints, moments for `courtside doctor --prove`, TensorBoard's files, pictures and films stay behind. A run may be
packed while it trains: its checkpoint is chosen first, and resume drops the lines that came after it. A piece that is
missing or damaged is named before anything is written. On another kind of machine the run goes on correctly, but not bit
for bit, and `courtside resume` says so.
"""

import argparse
import fnmatch
import hashlib
import io
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from courtside.errors import CourtsideError
from courtside.runs import checkpoint, runlog
from courtside.runs.members import is_population, member_dirs

LEFT = (".*", "events.out.tfevents.*", "wall.png", "stage.safetensors", "proof.json", "process.log")
"""Files that stay behind, by name."""
LEFT_FOLDERS = ("checkpoints", "snapshots", "videos", "frames", "knobs", "wandb", "trajectories", "members")
"""Folders that do; of the first the newest whole checkpoint goes along, of the last each member as a run."""
_PIECE = re.compile(r"(.+)\.tar\.gz\.(\d+)-of-(\d+)\.([0-9a-f]{12})")


def pack(run: Path, folder: Path, mb: float) -> list[Path]:
    """The pieces of `run`, each named with its number and the first digits of the whole's SHA-256."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz", compresslevel=1) as archive:
        for name, data in contents(run):
            entry = tarfile.TarInfo(f"{run.name}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    data, size = whole.getvalue(), int(mb * 2**20)
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    stamp = hashlib.sha256(data).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{run.name}.tar.gz.*"):
        old.unlink()
    paths = [folder / f"{run.name}.tar.gz.{i}-of-{len(parts)}.{stamp}" for i in range(1, len(parts) + 1)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    return paths


def contents(run: Path) -> Iterator[tuple[str, bytes]]:
    """What goes along, by its path in the run folder."""
    for member in member_dirs(run) if is_population(run) else []:
        yield from ((f"members/{member.name}/{name}", data) for name, data in contents(member))
    if checkpoint.find_checkpoints(run / runlog.CHECKPOINTS):
        newest, _ = checkpoint.newest_whole(run / runlog.CHECKPOINTS)
        yield f"{runlog.CHECKPOINTS}/{newest.name}", newest.read_bytes()
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run)
        if path.is_file() and name.parts[0] not in LEFT_FOLDERS and not is_left(name.name):
            yield name.as_posix(), path.read_bytes()


def is_left(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in LEFT)


def unpack(folder: Path, runs_dir: Path) -> Path:
    """The run whose pieces lie in `folder`, as a run folder in `runs_dir`."""
    name, data = join(folder)
    if (runs_dir / name).exists():
        sys.exit(f"{runs_dir / name} is there already; unpack into another folder, or move it away.")
    runs_dir.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        archive.extractall(runs_dir, filter="data")
    for run in (found := runs_dir / name, *member_dirs(found)):
        (run / runlog.CHECKPOINTS).mkdir(exist_ok=True)
        (run / runlog.BEST).mkdir(exist_ok=True)
    return found


def join(folder: Path) -> tuple[str, bytes]:
    """Name and bytes of the one run that was packed into `folder`."""
    pieces = {path: match for path in sorted(folder.iterdir()) if (match := _PIECE.fullmatch(path.name))}
    wholes = {(match[1], int(match[3]), match[4]) for match in pieces.values()}
    if len(wholes) != 1:
        sys.exit(f"{folder} must hold the pieces of one run, packed once; found {len(wholes)}.")
    name, count, stamp = wholes.pop()
    found = {int(match[2]): path for path, match in pieces.items()}
    if missing := sorted(set(range(1, count + 1)) - set(found)):
        sys.exit(f"Of the {count} pieces of {name} these are missing: {', '.join(map(str, missing))}.")
    data = b"".join(found[i].read_bytes() for i in range(1, count + 1))
    if hashlib.sha256(data).hexdigest()[:12] != stamp:
        sys.exit(f"The pieces of {name} were damaged on the way: their checksum is not the one in their names.")
    return name, data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("run", type=Path)
    packing.add_argument("folder", type=Path)
    packing.add_argument("--mb", type=float, default=15.0, help="of a piece, at most (default: 15)")
    unpacking = commands.add_parser("unpack")
    unpacking.add_argument("folder", type=Path)
    unpacking.add_argument("runs_dir", type=Path)
    args = parser.parse_args()
    try:
        if args.command == "unpack":
            print(unpack(args.folder, args.runs_dir))
            return
        for path in pack(runlog.find_run(args.run), args.folder, args.mb):
            print(f"{path} {path.stat().st_size / 2**20:.1f} MB")
    except CourtsideError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
