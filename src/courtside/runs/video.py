"""Frames into a file that plays anywhere: .mp4 (H.264, yuv420p) or .gif, written beside its place and moved into it whole."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from courtside import files
from courtside.errors import ConfigError

FORMATS = {".mp4": "mp4", ".gif": "gif"}
OPTIONS = {"mp4": {"movflags": "faststart"}, "gif": {"loop": "0"}}
"""An mp4 that plays while it loads, a GIF that starts over."""
PALETTE_FRAMES = 128
"""Frames of a GIF that are looked at for its colours; they are kept in memory meanwhile."""
Frame = UInt8[np.ndarray, "_ _ 3"]


def check_path(path: str | Path) -> Path:
    """Refuse what cannot become a video before an episode is played for it."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        what = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise ConfigError(f"The video {path} {what}; name it .mp4 or .gif.")
    if not path.parent.is_dir():
        raise ConfigError(f"The folder {path.parent} for the video {path.name} is not there; make it first.")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file for the video.")
    _import_av()
    return path


def write_video(path: str | Path, frames: Iterable[Frame], fps: int = 10) -> int:
    """Write all frames, which have one size, and return how many they were; a file of that name is replaced."""
    path, av = check_path(path), _import_av()
    temporary = path.with_name(f".{path.name}{files.TEMPORARY}")
    kind = FORMATS[path.suffix.lower()]
    try:
        with av.open(str(temporary), "w", format=kind, container_options=OPTIONS[kind]) as container:
            if kind == "gif":
                count = _encode_gif(av, container, _to_frames(av, frames, fps), fps)
            else:
                count = _encode_mp4(container, _to_frames(av, map(make_even, frames), fps), fps)
        os.replace(temporary, path)
    except (OSError, av.error.FFmpegError) as error:
        why = files.explain(error) if isinstance(error, OSError) else str(error)
        raise ConfigError(f"Could not write the video {path}: {why}. Mend that and record it again.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return count


def _import_av() -> Any:
    try:
        import av
    except ModuleNotFoundError as error:
        raise ConfigError('Videos need PyAV, which is not installed; type: pip install "courtside[video]"') from error
    return av


def _to_frames(av: Any, frames: Iterable[Frame], fps: int) -> Iterator[Any]:
    """PyAV's frames, each with its moment."""
    for number, frame in enumerate(frames):
        made = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
        made.pts, made.time_base = number, Fraction(1, fps)
        yield made


def make_even(frame: Frame) -> Frame:
    """H.264 in yuv420p needs even sides: repeat the last row or column where one is missing."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _encode_mp4(container: Any, frames: Iterator[Any], fps: int) -> int:
    stream, count = None, 0
    for frame in frames:
        if stream is None:
            stream = container.add_stream("libx264", rate=fps, options={"crf": "18", "tune": "animation"})
            stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, "yuv420p"
        container.mux(stream.encode(frame))
        count += 1
    return _finish(container, stream, count)


def _encode_gif(av: Any, container: Any, frames: Iterator[Any], fps: int) -> int:
    """One palette for the whole film, from the colours of its beginning and without dither: flat colours stay flat."""
    first = list(itertools.islice(frames, PALETTE_FRAMES))
    if not first:
        return _finish(container, None, 0)
    graph, push = _start_painting(av, first[0], _make_palette(av, first))
    stream, count = container.add_stream("gif", rate=fps), 0
    stream.width, stream.height, stream.pix_fmt = first[0].width, first[0].height, "pal8"
    for frame in itertools.chain(first, frames):
        push(frame)
        container.mux(stream.encode(graph.pull()))
        count += 1
    return _finish(container, stream, count)


def _make_palette(av: Any, frames: list[Any]) -> Any:
    """The 256 colours that serve these frames best."""
    graph = av.filter.Graph()
    source, make = _add_source(graph, frames[0]), graph.add("palettegen", "stats_mode=full:reserve_transparent=0")
    source.link_to(make)
    make.link_to(graph.add("buffersink"))
    graph.configure()
    for frame in frames:
        graph.push(frame)
    graph.push(None)
    return graph.pull()


def _start_painting(av: Any, frame: Any, palette: Any) -> tuple[Any, Callable[[Any], None]]:
    """A graph that puts frames into the palette, and the way to feed it."""
    graph = av.filter.Graph()
    source, colours = _add_source(graph, frame), _add_source(graph, palette)
    use = graph.add("paletteuse", "dither=none")
    source.link_to(use, 0, 0)
    colours.link_to(use, 0, 1)
    use.link_to(graph.add("buffersink"))
    graph.configure()
    colours.push(palette)
    colours.push(None)
    return graph, source.push


def _add_source(graph: Any, like: Any) -> Any:
    return graph.add_buffer(width=like.width, height=like.height, format=like.format, time_base=like.time_base)


def _finish(container: Any, stream: Any, count: int) -> int:
    if stream is None:
        raise ConfigError("There is no frame to make a video of; play at least one step.")
    container.mux(stream.encode(None))
    return count
