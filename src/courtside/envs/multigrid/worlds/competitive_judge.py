"""The judging of a turn in the course's worlds: pick-ups, doors, eliminations, agent by agent in the order of acting."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from courtside.envs.multigrid.dynamics import Index, for_each, get, put
from courtside.envs.multigrid.objects import EMPTY, LOOKS, Colour, State, Type, colour_of, pack, state_of, type_of
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement, first_of, win_reward
from courtside.envs.multigrid.state import Action, GridState, ahead

if TYPE_CHECKING:
    from courtside.envs.multigrid.worlds.competitive import Competitive


EVENTS: tuple[str, ...] = (
    "door_open_done",
    "eliminated_opponents_done",
    "got_eliminated_done",
    "eliminated_opponent_num",
)
"""What is told of each agent in each step; logged as sums over the episode."""
BALL_PAID = "ball_paid"
"""How often the ball paid, in worlds that have one; the task means it to pay once."""
DOOR_OPEN, ELIMINATED_ALL, GOT_ELIMINATED, NUM_ELIMINATED = range(len(EVENTS))
GET_KEY, MOVE_BALL, OPEN_DOOR = 1, 2, 3
"""Messages: the numbers of their texts."""


class RuleMemory(eqx.Module):
    """What the course's rules remember."""

    discount: Float[Array, "2"]
    """The factor of the next reward: of the blue ball, then of the red one."""
    mission: Int[Array, "A"]
    """The text each agent was last given."""
    number: Int[Array, "A"]
    """The number that its observation has for it."""
    open_door_lost: Bool[Array, ""]
    """An open door was taken off the grid under an eliminated agent; it counts as open for ever."""
    totals: Int[Array, "A 4"]
    """Sums of the events over the episode."""
    balls: Int[Array, "A"]
    """How often each agent was paid for a ball in this episode."""


class Court(eqx.Module):
    """A turn half judged."""

    state: GridState
    reward: Float[Array, "A"]
    ended: Bool[Array, "A"]
    """Who was told of the end in this step."""
    events: Int[Array, "A 4"]


def judge_all(rules: Competitive, options: GridOptions, turn: JudgedStep) -> Judgement:
    """Judge the agents one after the other; what an earlier one did holds for the later ones."""
    num = len(rules.agent_names)
    court = Court(turn.after, turn.reward, jnp.zeros(num, bool), jnp.zeros((num, len(EVENTS)), jnp.int32))
    court = for_each(turn.order, functools.partial(_judge_one, rules, options, turn.action), court)
    counts = [
        court.events[:, i] if i == NUM_ELIMINATED else jnp.minimum(court.events[:, i], 1) for i in range(len(EVENTS))
    ]
    events = dict(zip(EVENTS, counts, strict=True))
    totals = court.state.extra.totals + jnp.stack(counts, axis=1)
    state = eqx.tree_at(lambda s: s.extra.totals, court.state, totals)
    # As the reference does, nobody's end is returned before all have ended.
    ended = court.ended | jnp.all(turn.after.done) if rules.mask_partial_ends else court.state.done
    return Judgement(state, court.reward, ended, _info(rules, state), events)


def _judge_one(rules: Competitive, options: GridOptions, action: Int[Array, "A"], agent: Index, court: Court) -> Court:
    heard = jnp.asarray(True) if rules.judge_the_dead else ~get(court.state.done, agent)
    chosen = get(action, agent)
    court = _judge_toggle(rules, options, court, agent, heard & (chosen == Action.TOGGLE))
    return _judge_pickup(rules, court, agent, heard & (chosen == Action.PICK_UP))


def _info(rules: Competitive, state: GridState) -> dict[str, Array]:
    """Sums of the episode so far, by agent where there are several."""
    names, memory = rules.agent_names, state.extra
    prefixes = [""] if len(names) == 1 else [f"{name}/" for name in names]
    sums = {p + event: memory.totals[a, e] for a, p in enumerate(prefixes) for e, event in enumerate(EVENTS)}
    balls = {p + BALL_PAID: memory.balls[a] for a, p in enumerate(prefixes)}
    return sums | balls if rules.has_obstacle else sums


def _judge_pickup(rules: Competitive, court: Court, agent: Index, acts: Bool[Array, ""]) -> Court:
    """A fresh key of one's own pays, a ball faced at its home pays, anything else costs."""
    state, memory = court.state, court.state.extra
    carried = get(state.carried, agent)
    own = colour_of(carried) == _colour(rules, agent)
    has_key = (type_of(carried) == Type.KEY) & own & (state_of(carried) == State.AVAILABLE)
    paid_key = acts & has_key
    slot = jnp.where(colour_of(carried) == Colour.BLUE, 0, 1)
    factor = memory.discount[slot] if rules.has_obstacle else jnp.float32(0)
    paid_ball = acts & _faces_home(rules, state, agent, carried) & ~own
    if rules.ball_pays == "once":
        paid_ball &= factor > 0
    pay = jnp.where(paid_key, rules.key_reward, jnp.where(paid_ball, rules.ball_reward * factor, -rules.pickup_penalty))
    reward = put(court.reward, agent, get(court.reward, agent) + jnp.where(acts, pay, 0.0))
    spent = factor * factor if rules.ball_pays == "always" else jnp.zeros_like(factor)
    discount = jnp.where(paid_ball & (jnp.arange(2) == slot), spent, memory.discount)
    key = pack(Type.KEY, colour_of(carried), State.PICKED_UP)  # it pays once, but may go on looking as if it had not
    carried = jnp.where(paid_key, key | LOOKS if rules.paid_key_looks_fresh else key, carried)
    balls = put(memory.balls, agent, get(memory.balls, agent) + paid_ball)
    changed = lambda s: (s.carried, s.extra.discount, s.extra.balls)  # noqa: E731
    state = eqx.tree_at(changed, state, (put(state.carried, agent, carried), discount, balls))
    state = _tell_team(rules, state, agent, paid_key, paid_ball)
    return Court(state, reward, court.ended, court.events)


def _faces_home(rules: Competitive, state: GridState, agent: Index, carried: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether the agent carries a ball and faces the cell where that ball started."""
    if not rules.has_obstacle:
        return jnp.asarray(False)
    front = ahead(rules.height, get(state.position, agent), get(state.direction, agent))
    home = jnp.where(colour_of(carried) == Colour.BLUE, rules.homes[Colour.BLUE], rules.homes[Colour.RED])
    return (type_of(carried) == Type.BALL) & (front == home)


def _tell_team(
    rules: Competitive, state: GridState, agent: Index, got_key: Bool[Array, ""], got_ball: Bool[Array, ""]
) -> GridState:
    """Messages to oneself and to the mates: whoever has the key opens the door, the others move the ball away."""
    if rules.version == 2:
        return state
    memory, index = state.extra, jnp.arange(len(rules.agent_names))
    mine = index == agent
    mates = _team(rules, agent) & ~mine
    has_key = type_of(state.carried) == Type.KEY
    text = jnp.where(mine, jnp.where(got_key, OPEN_DOOR, MOVE_BALL), memory.mission)
    for_mates = jnp.where(got_key, MOVE_BALL, jnp.where(has_key, OPEN_DOOR, GET_KEY))
    text = jnp.where(mates, for_mates, text)
    hears = (mine | mates) & (got_key | got_ball)
    mission = jnp.where(hears, text, memory.mission)
    number = mission if rules.mission_number == "meaningful" else jnp.where(hears, 0, memory.number)
    return eqx.tree_at(lambda s: (s.extra.mission, s.extra.number), state, (mission, number))


def _judge_toggle(rules: Competitive, options: GridOptions, court: Court, agent: Index, acts: Bool[Array, ""]) -> Court:
    """An opponent in front comes first, then one's own door."""
    state = court.state
    front = ahead(rules.height, get(state.position, agent), get(state.direction, agent))
    team = _team(rules, agent)
    there = (state.position == front) & ~team
    if not rules.judge_the_dead:
        there &= ~state.done
    if len(rules.teams) == 1:
        return _win(rules, options, court, team, acts & _door_is_open(rules, state, front, agent), DOOR_OPEN)
    court = _win(
        rules, options, court, team, acts & ~jnp.any(there) & _door_is_open(rules, state, front, agent), DOOR_OPEN
    )
    return _hit(rules, options, court, agent, there & acts) if rules.death_match else court


def _door_is_open(rules: Competitive, state: GridState, front: Int[Array, ""], agent: Index) -> Bool[Array, ""]:
    """Whether the agent faces its own door while that door, or as in the reference any door, is open."""
    cell = state.cells[front]
    own = (type_of(cell) == Type.DOOR) & (colour_of(cell) == _colour(rules, agent))
    if not rules.stolen_win:
        return own & (state_of(cell) == State.OPEN)
    doors = jnp.stack([state.cells[rules.at(4, 6)], state.cells[rules.at(11, 1)]])
    is_open = (type_of(doors) == Type.DOOR) & (state_of(doors) == State.OPEN)
    return own & (jnp.any(is_open) | state.extra.open_door_lost)


def _hit(rules: Competitive, options: GridOptions, court: Court, agent: Index, there: Bool[Array, "A"]) -> Court:
    """Eliminate the opponent in front, of several the last; the team whose opponents are all out has won."""
    state, index = court.state, jnp.arange(len(rules.agent_names))
    hit = jnp.any(there)
    victim = there & (index == jnp.max(jnp.where(there, index, -1)))
    state = _remove(rules, state, victim)
    reward = court.reward + jnp.where(hit & (index == agent), rules.elimination_reward, 0.0) - victim
    events = court.events + jnp.where(victim[:, None] & (jnp.arange(len(EVENTS)) == GOT_ELIMINATED)[None, :], 1, 0)
    team = _team(rules, agent)
    court = Court(state, reward, court.ended, events)
    return _win(rules, options, court, team, hit & jnp.all(state.done | team), ELIMINATED_ALL)


def _remove(rules: Competitive, state: GridState, victim: Bool[Array, "A"]) -> GridState:
    """Out of the game and into the side room, with the thing it stood on if the rules say so."""
    memory, cells = state.extra, state.cells
    if rules.hit_clears_cell:
        place = jnp.sum(jnp.where(victim, state.position, 0))
        cleared = (jnp.arange(cells.size) == place) & jnp.any(victim)
        is_open = (type_of(cells) == Type.DOOR) & (state_of(cells) == State.OPEN)
        memory = eqx.tree_at(lambda m: m.open_door_lost, memory, memory.open_door_lost | jnp.any(cleared & is_open))
        cells = jnp.where(cleared, EMPTY, cells)
    graves = jnp.asarray([rules.graves[colour] for colour in rules.agent_colours], jnp.int32)
    position = jnp.where(victim, graves, state.position)
    return GridState(cells, position, state.direction, state.carried, state.done | victim, state.step, memory)


def _win(
    rules: Competitive, options: GridOptions, court: Court, team: Bool[Array, "A"], won: Bool[Array, ""], event: int
) -> Court:
    """Pay the winners and end the game for all, or with `success_termination_mode` "all" for the winners only."""
    state, living = court.state, team & ~court.state.done
    ends_all = options.success_termination_mode == "any"
    winners = first_of(living) if ends_all and rules.win_pays == "first" else living
    winners &= won
    ended = jnp.broadcast_to(jnp.any(winners), winners.shape) if ends_all else winners
    prize = win_reward(options, state.step)
    paid = jnp.broadcast_to(jnp.any(winners), winners.shape) if options.joint_reward else winners
    reward = jnp.where(paid, prize if rules.win_overwrites else court.reward + prize, court.reward)
    column = jnp.arange(len(EVENTS))
    counted = column == event if event == DOOR_OPEN else (column == event) | (column == NUM_ELIMINATED)
    events = court.events + jnp.where(winners[:, None] & counted[None, :], 1, 0)
    state = eqx.tree_at(lambda s: s.done, state, state.done | ended)
    return Court(state, reward, court.ended | ended, events)


def _colour(rules: Competitive, agent: Index) -> Int[Array, ""] | int:
    if isinstance(agent, int):
        return rules.agent_colours[agent]
    return get(jnp.asarray(rules.agent_colours, jnp.int32), agent)


def _team(rules: Competitive, agent: Index) -> Bool[Array, "A"]:
    """Who wears the agent's colour, itself included."""
    return jnp.asarray(rules.agent_colours, jnp.int32) == _colour(rules, agent)
