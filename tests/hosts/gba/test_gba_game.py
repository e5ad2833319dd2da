"""A game as an env: what it is told, what is seen, how actions last, what is paid, how episodes end, and what is saved."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from homebrew import catch, quest, quest_player, word

from courtside.cli import main
from courtside.errors import CheckpointError, ConfigError
from courtside.hosts.gba import game, kind, observation, options, player
from courtside.hosts.gba.calls import build_env, describe_env
from courtside.hosts.gba.check import run_checks
from courtside.hosts.gba.core import CORE_VARIABLE
from courtside.hosts.gba.emerald.save_file import find_fault
from courtside.hosts.gba.trajectories import read_trajectory, replay
from courtside.settings.worlds import find_env, give_options, world_name

FLIPS = ["up", "left", *["left", "right"] * 6]
"""To the switch and over it, again and again."""


@pytest.fixture(scope="module")
def roms(tmp_path_factory):
    """Paths with signs in them that also part the words of a name."""
    folder = tmp_path_factory.mktemp("my, own [roms] 100%")
    for rom in (quest, catch):
        (folder / f"{rom.CODE}.gba").write_bytes(rom.build())
    return folder


@pytest.fixture
def build(roms):
    """Builds a game with options; all are closed in the end."""
    built = []

    def build_one(game="QUEST", **told):
        code = quest.CODE if game == "QUEST" else catch.CODE
        source = options.give(find_env(f"gba:games:{game}"), {"rom": roms / f"{code}.gba", **told})
        built.append(build_env(source))
        return built[-1]

    yield build_one
    for env in built:
        env.close()


def play(env, names):
    """What each action, by name, shows, pays and ends."""
    log = []
    for name in names:
        obs, *rest = env.step(env.action_names.index(name))
        log.append((obs.copy(), *rest))
    return log


def test_an_id_carries_all_that_a_game_is_told(roms):
    source = find_env("gba:emerald[sticky=0.5]")
    assert (source, find_env("Emerald").kind) == (dataclasses.replace(source, kind="gba"), "gba")
    told = options.give(source, {"rom": str(roms / "a.gba"), "flips_pay": True, "patience": 8192, "badge_rew": 3})
    read = options.read(told)
    assert options.read(find_env(told.id)) == read
    assert (read.options.rom, read.options.sticky) == (str(roms / "a.gba"), 0.5)
    assert (read.own["flips_pay"], read.own["badge_rew"]) == (True, 3.0)
    assert "patience" not in told.options, "it is as always"
    assert world_name(told.id) == "gba:emerald"
    emerald = find_env("gba:emerald")
    assert options.read(kind.for_evaluation(emerald)).options.evaluation
    assert kind.describe(emerald, {"save": "x.sav", "rom": "x.gba"}) == kind.describe(emerald, {})


@pytest.mark.parametrize(
    ("name", "told", "sentence"),
    [
        ("emrald", {}, r"no GBA game named 'emrald'. Did you mean emerald"),
        ("emerald", {"stick": 1}, r"no option of gba:emerald named 'stick'. Did you mean sticky"),
        ("emerald", {"sticky": 2}, r"sticky of gba:emerald is 2.0, but it must lie between 0.0 and 0.99"),
        ("emerald", {"rewards": "mine"}, r"'mine', but it must be one of head, november, pygba"),
        ("emerald", {"mode": "odd"}, r"'odd', but it must be one of fixed, faithful"),
        ("emerald", {}, r"gba:emerald needs a cartridge, and none was given.*--rom PATH"),
        ("emerald", {"rom": "/no/such.gba"}, r"There is no ROM at /no/such.gba"),
        ("games:read_catch", {}, r"games:read_catch is a function, but gba:MODULE:NAME must name a GameDescription"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(name, told, sentence):
    with pytest.raises(ConfigError, match=sentence):
        give_options(find_env(f"gba:{name}"), told)


def test_wrong_files_are_refused(build, roms, tmp_path, monkeypatch, capsys):
    with pytest.raises(ConfigError, match=r"BADGE QUEST \(CSQE.*needs code CSCE"):
        build("CATCH", rom=roms / f"{quest.CODE}.gba")
    (tmp_path / "x.sav").write_bytes(bytes(99))
    with pytest.raises(ConfigError, match=r"x.sav is no save of quest: it has 99 bytes"):
        build(save=tmp_path / "x.sav")
    (tmp_path / "x.state").write_bytes(build("CATCH").emulator.save_state())
    with pytest.raises(ConfigError, match=r"x.state cannot be started from. The saved state is of the ROM with SHA-1"):
        build(start=tmp_path / "x.state")
    assert main(["check", "emerald", "--rom", str(roms / f"{quest.CODE}.gba")]) == 2
    assert "needs code BPEE, revision 0, SHA-1 f3ae0881" in capsys.readouterr().err
    monkeypatch.setenv(CORE_VARIABLE, "/no/core.so")
    with pytest.raises(ConfigError, match=r"There is no file /no/core.so"):
        build()


def test_a_save_of_another_game_is_known_by_its_key():
    def make_save(key: int, count: int = 1) -> bytes:
        sector = bytearray(0x1000)
        sector[0xAC:0xB0] = key.to_bytes(4, "little")
        sector[-10:-8] = ((key >> 16) + (key & 0xFFFF) & 0xFFFF).to_bytes(2, "little")
        sector[-8:] = (0x08012025).to_bytes(4, "little") + count.to_bytes(4, "little")
        return bytes(sector)

    rest = bytes(30 * 0x1000)
    assert find_fault(make_save(0x1234) + make_save(0, 0) + rest) == ""
    assert "Ruby or Sapphire" in find_fault(make_save(0x1234) + make_save(0, 2) + rest)
    assert "FireRed" in find_fault(make_save(1) + make_save(7, 0) + rest)
    assert find_fault(bytes(0x20000)) == "there is no game in it"
    broken = bytearray(make_save(0x1234) + make_save(0, 0) + rest)
    broken[0x10] ^= 1
    assert "Ruby or Sapphire" in find_fault(bytes(broken)), "the newer one is damaged"


def test_the_picture_is_upright_and_halved(build):
    env = build()
    seen, screen = env.reset(0).copy(), env.render()
    grey = screen.astype(float) @ [0.299, 0.587, 0.114]
    means = grey.reshape(80, 2, 120, 2).mean(axis=(1, 3))
    assert seen.shape == (80, 120, 1)
    assert np.abs(seen[..., 0] - means).max() < 1.01
    assert seen[30:40, 60:70].max() == 255, "the player, at column 4 and row 3"


def test_the_faithful_picture_lies_on_its_side():
    pixels = np.random.default_rng(0).integers(65_536, size=(160, 240), dtype=np.uint16)
    seen = observation.Eye(sideways=True)(pixels)[..., 0]
    side = observation.brightness()[pixels].T.astype(float)  # [240, 160]
    means = side.reshape(80, 3, 160).mean(axis=1).repeat(3, axis=1).reshape(80, 120, 4).mean(axis=2)
    assert np.abs(seen - means).max() <= 0.51


@pytest.mark.parametrize(
    ("told", "is_sideways"), [({}, False), ({"mode": "faithful"}, True), ({"orientation": "faithful"}, True),
                              ({"mode": "faithful", "orientation": "right"}, False)],
)  # fmt: skip
def test_the_mode_decides_how_the_picture_lies_unless_told(build, told, is_sideways):
    env = build(**told)
    seen = env.reset(0).copy()
    assert np.array_equal(seen, observation.Eye(is_sideways)(env.emulator.pixels()))
    assert not np.array_equal(seen, observation.Eye(not is_sideways)(env.emulator.pixels()))


def test_what_a_black_screen_hides_is_paid_when_it_is_seen(build, monkeypatch):
    """The step onto a badge, and one that goes nowhere; hidden in the step itself, or where an episode begins."""
    env = build(explore_rew=0, revisit_rew=0, heal_rew=0)
    walk = ["up"] * 3 + ["right"] * 3
    env.reset(0)
    openly = [entry[1] for entry in play(env, [*walk, "nothing"])]
    assert openly[5] > 10
    env.reset(0)
    play(env, walk[:-1])
    monkeypatch.setattr(game, "is_black", lambda pixels: True)
    assert play(env, walk[-1:])[0][1] == 0
    monkeypatch.undo()
    assert play(env, ["nothing"])[0][1] == pytest.approx(sum(openly[5:]))


def test_nothing_is_stored_or_taken_for_known_behind_a_black_screen(build, tmp_path, monkeypatch):
    monkeypatch.setattr(game, "is_black", lambda pixels: True)
    env = build(folder=tmp_path, atlas_start=1.0, atlas_store=1.0, atlas_mb=1e5)
    env.reset(0)
    play(env, ["up"] * 4)
    assert not list(tmp_path.glob("atlas/*/*.state"))
    assert not any(env.rewards.totals.values())


def test_keys_are_held_for_a_frame_more_than_are_skipped_and_may_stick(build):
    env = build("CATCH", frame_skip=7)
    env.reset(0)
    before = word(env.emulator, catch.FRAMES)
    play(env, ["right"] * 3)
    assert word(env.emulator, catch.FRAMES) - before == 24
    moved = word(env.emulator, catch.PADDLE)
    stuck = build("CATCH", frame_skip=7, sticky=0.99)
    stuck.reset(0)
    play(stuck, ["right"] * 3)
    assert moved > word(stuck.emulator, catch.PADDLE) == 7, "the keys before were none"
    noisy = build("CATCH", frame_skip=7, action_noise=1.0)
    noisy.reset(0)
    places = [play(noisy, ["nothing"]) and word(noisy.emulator, catch.PADDLE) for _ in range(6)]
    assert len(set(places)) > 2, "some were others"


def test_all_badges_pay_and_the_totals_say_for_what(build):
    env = build(rewards="head", badge_rew=7, evaluation=True)
    env.reset(0)
    names = {keys: name for name, keys in env.description.actions}
    log = play(env, [names[key] for key in quest_player.all_badges()])
    paid, totals = sum(reward for _, reward, *_ in log), env.rewards.totals
    assert totals["badge_rew"] == 8 * 7
    assert totals["visit_city_rew"] == 5
    assert paid == pytest.approx(
        sum(totals.values()) - 10 - 0.2 - 1 - 0.02, abs=1e-6
    )  # Pokedex, seen, owned, first tile
    assert describe_env("", env).told_names == tuple(totals)
    assert env.description.describe(env.state).startswith("Petalburg at")


@pytest.mark.parametrize(("told", "least", "most"), [({"mode": "faithful"}, 0.37, 0.5), ({}, 0.07, 0.08)])
def test_shuttling_over_a_switch_earns_only_in_faithful(build, told, least, most):
    env = build(explore_rew=0, revisit_rew=0, heal_rew=0, **told)
    env.reset(0)
    assert least < sum(reward for _, reward, *_ in play(env, FLIPS)) < most


def test_a_clock_cuts_and_only_the_faithful_take_that_for_an_end(build):
    env, tired = build(max_steps=3), build(patience=4, stop_penalty=0.5)
    ways = {
        "one": {"cut_is_end": True},
        "all": {"mode": "faithful"},
        "all but it": {"mode": "faithful", "cut_is_end": False},
    }
    faithful = {name: build(max_steps=2, **told) for name, told in ways.items()}
    for each in (env, tired, *faithful.values()):
        each.reset(0)
    assert [entry[2:4] for entry in play(env, ["nothing"] * 3)] == [(False, False)] * 2 + [(False, True)]
    log = play(tired, ["nothing"] * 4)
    assert [entry[3] for entry in log] == [False] * 3 + [True]
    assert log[-1][1] == -0.5
    ends = {name: play(each, ["nothing"] * 2)[-1][2:4] for name, each in faithful.items()}
    assert ends == {"one": (True, True), "all": (True, True), "all but it": (False, True)}


def test_a_game_that_is_over_is_terminated(build):
    env = build("CATCH", per_ball=2.0)
    env.reset(0)
    entry = play(env, ["nothing"])[-1]
    rewards, steps = [], 0
    while not (entry[2] or entry[3]):
        entry, steps = play(env, ["left"])[-1], steps + 1
        rewards.append(entry[1])
    assert entry[2:4] == (True, False)
    assert env.state.lives == 0
    assert set(rewards) <= {0.0, 2.0}


CHILD = """
import sys
from courtside.hosts.gba.calls import build_env
from courtside.settings.worlds import stand_for
env = build_env(stand_for(sys.argv[1]))
env.load_state(open(sys.argv[2], "rb").read())
for action in map(int, sys.argv[3]):
    env.step(action)
sys.stdout.buffer.write(env.save_state())
"""


def test_a_saved_state_goes_on_the_same_here_and_in_another_process(build, roms, tmp_path):
    told = {"sticky": 0.3, "action_noise": 0.2, "patience": 50, "mode": "faithful"}
    env, actions = build(**told), np.random.default_rng(1).integers(5, size=80).tolist()
    env.reset(3)
    for action in actions[:40]:
        env.step(action)
    (tmp_path / "state").write_bytes(env.save_state())
    twin = build(**told)
    twin.load_state((tmp_path / "state").read_bytes())
    for action in actions[40:]:
        one, other = env.step(action), twin.step(action)
        assert np.array_equal(one[0], other[0])
        assert one[1:] == other[1:]
    name = options.give(find_env("gba:games:QUEST"), {"rom": roms / f"{quest.CODE}.gba", **told}).id
    path = f"import sys; sys.path[:] = {sys.path!r}\n"
    command = [sys.executable, "-c", path + CHILD, name, str(tmp_path / "state"), "".join(map(str, actions[40:]))]
    assert subprocess.run(command, capture_output=True, check=True).stdout == env.save_state() == twin.save_state()
    with pytest.raises(CheckpointError, match=r"The saved state is of .*'mode': 'faithful'"):
        build().load_state(env.save_state())


@pytest.mark.parametrize(("told", "first_reward"), [({}, 0.0), ({"keeps_midway": True}, 5.0)])
def test_a_start_midway_pays_no_jump_unless_faithful(build, tmp_path, told, first_reward):
    """One env stores states with a badge, another one starts from there."""
    told |= {"badge_rew": 5, "explore_rew": 0, "folder": tmp_path, "atlas_start": 1.0, "atlas_mb": 1e5}
    one, other = build(atlas_store=1.0, **told), build(atlas_store=0.0, **told)
    for seed, env in enumerate((one, other)):
        env.reset(seed)
        assert env.description.describe(env.state).startswith("Littleroot at (4, 3)"), "there is no state yet"
    play(one, ["up"] * 3 + ["right"] * 3 + ["nothing"] * 2)
    other.logbook._age += 2_000  # states are trusted once every env had the time to write its own
    other.reset()
    assert other.description.describe(other.state).startswith("Littleroot at (7, 0), walking; 1 badge")
    assert play(other, ["nothing"])[0][1] == pytest.approx(first_reward, abs=0.3)


def test_episodes_and_places_are_left_in_the_run_folder(build, roms, tmp_path):
    env = build(folder=tmp_path, first_seed=40, num_envs=4, max_steps=8)
    for seed in (43, 47):  # the second is what another env in its place would have
        env.reset(seed)
        play(env, ["up", "left"] * 4)
    (path,) = (tmp_path / "trajectories" / "03").iterdir()  # the newest alone is kept
    assert path.name == "episode_0001"
    shown = list(replay(read_trajectory(path), roms / f"{quest.CODE}.gba"))  # raises where it ends otherwise
    assert np.array_equal(shown[-1][1], env.render())
    assert (tmp_path / "visits" / "03.npz").is_file()


def test_every_check_passes_and_says_what_it_found(build):
    results = run_checks(lambda: build(max_steps=20), steps=40)
    assert [fault for result in results for fault in result.faults] == []
    notes = " ".join(note for result in results for note in result.notes)
    assert "BADGE QUEST (CSQE, revision 0" in notes
    assert "Littleroot at (4, 3), walking; 0 badges, money 3,000" in notes


@pytest.mark.parametrize(("columns", "lines", "dot"), [(200, 60, 2), (119, 60, 3), (80, 24, 5), (20, 10, 8)])
def test_the_picture_is_as_fine_as_the_terminal_has_room_for(columns, lines, dot):
    assert player.dot_size(columns, lines) == dot
    rows = player.picture(np.zeros((160, 240, 3), np.uint8), False, dot).splitlines()
    assert {len(row) for row in rows} == {240 // dot}
    assert len(rows) == 160 // dot // 2


def test_a_film_is_as_fast_as_the_game_unless_steps_are_long(build):
    assert build("CATCH").metadata["render_fps"] == 15
    assert build(frame_skip=24).metadata["render_fps"] == 10


def test_states_cannot_be_stored_by_place_where_a_game_tells_none(build):
    with pytest.raises(ConfigError, match=r"gba:games:CATCH does not tell where a state is"):
        build("CATCH", atlas_start=0.5)


def test_a_person_can_play(roms, capsys, tmp_path):
    keys, rom = "\x1b[A" * 3 + "\x1b[C" * 3, str(roms / f"{quest.CODE}.gba")
    film = tmp_path / "film.gif"
    assert main(["play", "gba:games:QUEST", "--rom", rom, "--keys", keys, "--record", str(film)]) == 0
    page = capsys.readouterr().out
    assert "1 badge, money 3,500" in page
    assert "badge_rew 10" in page
    assert "episode 1: step 6" in page
    assert film.is_file()
    assert main(["play", "gba:games:QUEST", "--rom", rom, "--keys", "up up up right right right"]) == 0
    assert "1 badge, money 3,500" in capsys.readouterr().out
    assert main(["play", "gba:games:QUEST", "--rom", rom, "--keys", "k"]) == 2
    assert main(["envs", "gba"]) == 0
    assert "gba:emerald" in capsys.readouterr().out
    assert main(["envs", "emerald"]) == 0
    assert "flips_pay" in capsys.readouterr().out
