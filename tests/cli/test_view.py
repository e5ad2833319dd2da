"""The two views, driven by real events and read back from a real console that writes to a string."""

import io
import math
import re

import pytest
from rich.console import Console

from courtside.cli.view import LiveView, PlainView, live_block, make_view, progress_line
from courtside.runs.events import Compiled, Compiling, Evaluated, Evaluating, Finished, Notice, Progress, Started
from courtside.settings.config import override
from courtside.settings.presets import find_preset

CONFIG = override(find_preset("cartpole"), num_envs=4, num_steps=128, num_minibatches=4, total_timesteps=512 * 10)
STARTED = Started(CONFIG, {"envs": 0.1, "network": 0.5}, "cpu:0", notes=("Episodes restart.",))


def progress(update: int, mean_return: float = 93.1) -> Progress:
    row = {
        "step": 512 * update, "update": update, "charts/episodes": 0 if math.isnan(mean_return) else 2,
        "charts/episodic_return": mean_return, "charts/episodic_length": mean_return, "losses/entropy": 0.61,
        "losses/approx_kl": 0.0052, "losses/clipfrac": 0.12, "losses/explained_variance": math.nan,
        "losses/value_loss": 12.5, "losses/policy_loss": -0.0123, "charts/learning_rate": 2.5e-4,
    }  # fmt: skip
    return Progress(512 * update, update, [row], 0.5 * update, 1024.0, 0.4)


class Clock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def plain() -> tuple[PlainView, Clock, io.StringIO]:
    page, clock = io.StringIO(), Clock()
    return PlainView(Console(file=page), clock), clock, page


def test_plain_announces_settings_memory_and_notes():
    view, _, page = plain()
    view.on(STARTED)
    lines = page.getvalue().splitlines()
    assert any(re.match(r"sizes +minibatch_size +128 ", line) for line in lines)
    assert "device: cpu:0" in lines
    assert any(line.startswith("memory: 0.6 MB (envs 0.1 MB, network 0.5 MB)") for line in lines)
    assert lines[-1] == "note: Episodes restart."


def test_plain_line_holds_every_figure():
    view, clock, page = plain()
    view.on(STARTED)
    clock.now += 0.5
    view.on(progress(1))
    line = page.getvalue().splitlines()[-1]
    assert line.startswith("step   512/5,120  10% | return    93.10 | length    93.10 | entropy   0.6100 | ")
    for figure in ("approx_kl   0.0052", "clipfrac   0.1200", "explained_variance        -", "value_loss    12.50",
                   "policy_loss  -0.0123", "learning_rate 2.50e-04", "steps/s     1,024", "rollout  40%", "ETA -"):  # fmt: skip
        assert f"| {figure}" in line
    clock.now += 2.0
    view.on(progress(2))
    assert page.getvalue().splitlines()[-1].endswith("| rollout  40% | ETA 0:16")


def test_a_population_says_whose_steps_are_told():
    view, clock, page = plain()
    config = override(CONFIG, seeds=4)
    view.on(Started(config, {}, "cpu:0"))
    clock.now += 0.5
    view.on(progress(1))
    line = page.getvalue().splitlines()[-1]
    assert line.startswith("step   512/5,120 each  10% | ")
    assert "| steps/s of all     1,024 |" in line
    live = LiveView(terminal(io.StringIO()))
    live.on(Started(config, {}, "cpu:0"))
    live.on(progress(1))
    assert re.search(r"512 of 5,120 steps each", seen(live))
    assert re.search(r"steps/s of all +1,024", seen(live))


def test_plain_lines_align():
    view, _, _ = plain()
    view.on(STARTED)
    lengths = []
    for event in (progress(1, math.nan), progress(9, 1.5)):
        view.on(event)
        lengths.append(len(progress_line(view.board)))
    assert lengths[0] == lengths[1]


def test_plain_speaks_every_two_seconds_and_at_the_end():
    view, clock, page = plain()
    view.on(STARTED)
    for update in range(1, 11):
        view.on(progress(update))
        clock.now += 0.5
    view.on(Finished(5120, 10, 5.0))
    steps = [line.split("/")[0] for line in page.getvalue().splitlines() if re.match(r"step .*/5,120", line)]
    assert [step.split()[-1] for step in steps] == ["512", "2,560", "4,608", "5,120"]


def test_plain_says_the_end_once():
    view, _, page = plain()
    view.on(STARTED)
    view.on(progress(10))
    view.on(Finished(5120, 10, 5.0))
    assert page.getvalue().count("step 5,120/5,120 100%") == 1


def test_plain_says_compiling_once_and_every_evaluation_and_notice():
    view, _, page = plain()
    for event in (Compiling(0.1), Compiling(0.2), Compiled(6.26), Evaluated(512, 1, {"eval/episodic_return": 33.0}, True),
                  Evaluated(1024, 2, {"eval/episodic_return": 22.0}, False), Notice("env 3 was restarted")):  # fmt: skip
        view.on(event)
    assert page.getvalue().splitlines() == [
        "compiling ...",
        "compiled in 6.3 s",
        "step 512 | evaluation 33.00 | best so far",
        "step 1,024 | evaluation 22.00",
        "note: env 3 was restarted",
    ]


def test_an_evaluation_that_may_take_long_is_announced():
    view, clock, page = plain()
    view.on(STARTED)
    page.truncate(0)
    page.seek(0)
    for step, seconds in ((512, 30.0), (1024, 0.1), (1536, 0.1)):
        view.on(Evaluating(step, step // 512, 60))
        clock.now += seconds
        view.on(Evaluated(step, step // 512, {"eval/episodic_return": 33.0}, False))
    assert page.getvalue().splitlines() == [
        "step 512 | evaluating: 60 whole episodes ...",
        "step 512 | evaluation 33.00",
        "step 1,024 | evaluating: 60 whole episodes ...",
        "step 1,024 | evaluation 33.00",
        "step 1,536 | evaluation 33.00",
    ]


def test_live_view_tells_of_a_long_evaluation_while_it_lasts():
    view = LiveView(terminal(io.StringIO()))
    for event in (Started(override(CONFIG, eval_every=5120), {}, "cpu:0"), progress(1)):
        view.on(event)
    assert re.search(r"ETA \S+ [+] evaluation", seen(view))
    view.on(Evaluating(512, 1, 60))
    assert "evaluating: 60 whole episodes ..." in seen(view)
    view.on(Evaluated(512, 1, {"eval/episodic_return": 33.0}, True))
    assert "evaluating" not in seen(view)
    assert "+ evaluation" not in seen(view)


def terminal(page: io.StringIO, width: int = 120, **options) -> Console:
    return Console(
        file=page, force_terminal=True, width=width, height=40, _environ={"TERM": "xterm-256color"}, **options
    )


def seen(view: LiveView, width: int = 120) -> str:
    """What the live block looks like now."""
    page = io.StringIO()
    Console(file=page, width=width).print(live_block(view.board, width))
    return page.getvalue()


def test_live_goes_from_loading_to_figures():
    page = io.StringIO()
    with LiveView(terminal(page)) as view:
        assert seen(view).strip() == "loading ..."
        view.on(STARTED)
        view.on(Compiling(6.0))
        assert seen(view).strip() == "compiling ... 6 s"
        view.on(progress(5))
        view.on(Evaluated(2560, 5, {"eval/episodic_return": 33.0}, True))
    block = seen(view)
    for figure in (r"50% 2,560 of 5,120 steps ETA 0:02", r"return +93.10", r"length +93.10", r"entropy +0.6100",
                   r"approx_kl +0.0052", r"clipfrac +0.1200", r"explained_variance +-", r"value_loss +12.50",
                   r"policy_loss +-0.0123", r"learning_rate +2.50e-04", r"steps/s +1,024", r"rollout +40%",
                   r"learning +60%", r"update +5 of 10", r"time +0:02", r"evaluation +33.00", r"best evaluation +33.00",
                   r"too early +charts/episodic_return >= 475 over the last 100,000 steps, mean now 93.10"):  # fmt: skip
        assert re.search(figure, block), figure
    assert "minibatch_size" in page.getvalue()
    assert "note: Episodes restart." in page.getvalue()
    assert "return" in page.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_live_block_fits_any_width(width):
    page = io.StringIO()
    with LiveView(terminal(page, width)) as view:
        view.on(STARTED)
        view.on(progress(5))
    lines = seen(view, width).splitlines()
    assert max(map(len, lines)) <= width
    assert "2,560" in lines[0] or width < 60


def test_live_never_leaves_the_cursor_hidden():
    page = io.StringIO()
    with LiveView(terminal(page)) as view:
        view.on(STARTED)
        view.on(progress(5))
        shown = page.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


def test_view_fits_the_terminal(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert isinstance(make_view(terminal(io.StringIO())), LiveView)
    assert isinstance(make_view(Console(file=io.StringIO())), PlainView)
    dumb = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert isinstance(make_view(dumb), PlainView)
    monkeypatch.setenv("NO_COLOR", "1")
    assert isinstance(make_view(terminal(io.StringIO())), PlainView)


FAMILY = override(find_preset("pendulum-d4pg"), num_envs=4, total_timesteps=4 * 100, pretrain=128)


def replayed(update: int, learning_steps: int) -> Progress:
    """A row of an algorithm with a replay; nothing is known of losses before the first gradient step."""
    known = math.nan if learning_steps == 0 else 1.0
    row = {
        "step": 4 * update, "update": update, "charts/episodes": 1.0, "charts/episodic_return": -900.0, "charts/score": 0.25,
        "charts/episodic_length": 200.0, "losses/actor_loss": -0.5 * known, "losses/critic_loss": 4.25 * known,
        "losses/value_mean": 0.5 * known, "losses/value_std": 0.125 * known, "losses/td_error": 0.01 * known,
        "charts/noise_scale": 0.3 * known, "replay/size": 4.0 * update, "charts/learning_steps": float(learning_steps),
    }  # fmt: skip
    return Progress(4 * update, update, [row], 0.5, 1000.0, None)


@pytest.mark.parametrize("width", [80, 120])
def test_live_view_of_a_replay_says_that_it_fills_and_then_how_it_learns(width):
    with LiveView(terminal(io.StringIO(), width)) as view:
        view.on(Started(FAMILY, {}, "cpu:0"))
        view.on(replayed(10, 0))
        block = seen(view, width)
        assert "filling the replay with random actions: 40 of 128 entries" in block
        assert "ETA -" in block, "filling goes faster than learning, so it tells nothing of the time that is left"
        view.on(replayed(60, 48))
    block = seen(view, width)
    for figure in (r"score +0.2500", r"return +-900.0", r"actor_loss +-0.5000", r"critic_loss +4.250", r"value +0.5000 ± 0.1250",
                   r"noise_scale +0.3000", r"replay +240 of 300,000", r"learning steps +48", r"learning steps/s +1,000"):  # fmt: skip
        assert re.search(figure, block), figure
    for word in ("filling", "entropy", "clipfrac", "approx_kl", "learning_rate"):
        assert word not in block
    assert max(map(len, block.splitlines())) <= width


def test_plain_line_of_a_replay():
    view, clock, page = plain()
    view.on(Started(FAMILY, {}, "cpu:0"))
    for event in (replayed(10, 0), replayed(60, 48)):
        clock.now += 3.0
        view.on(event)
    filling, learning = page.getvalue().splitlines()[-2:]
    assert filling.endswith("ETA - | filling the replay before learning begins")
    assert "| actor_loss        - | critic_loss        - |" in filling
    assert "| value_mean   0.5000 | value_std   0.1250 |" in learning
    assert "| learning_steps       48 | learning_steps/s   1,000 | steps/s     1,000 |" in learning


def test_room_on_disk_is_told_where_it_is_much():
    view, _, page = plain()
    view.on(Started(CONFIG, {}, "cpu:0", disk_mb={"checkpoints": 381.0, "snapshots": 127.0}))
    assert re.search(r"\ndisk: 508 MB \(checkpoints 381 MB, snapshots 127 MB\); [\d,]+ MB free\n", page.getvalue())
    view.on(Started(CONFIG, {}, "cpu:0", disk_mb={"checkpoints": 9.0}))
    assert page.getvalue().count("disk:") == 1
