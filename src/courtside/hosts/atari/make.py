"""From `atari:GAME[...]` to one game, and what it says about itself. No JAX here."""

from __future__ import annotations

from courtside.errors import CourtsideError, EnvContractError, describe_error
from courtside.hosts.atari import options
from courtside.hosts.atari.game import AtariGame
from courtside.hosts.facts import EnvFacts


def build_env(env_id: str) -> AtariGame:
    game, told = options.read(env_id)
    try:
        return AtariGame(game, told)
    except CourtsideError:
        raise
    except Exception as error:
        raise EnvContractError(f"{env_id} could not be built: {describe_error(error)}.") from error


def describe_env(env_id: str, env: AtariGame) -> EnvFacts:
    """Its spaces, and the steps of its longest game. Training tells whole games apart from episodes, which are lives."""
    told = env.options
    limit = -(-told.max_frames // told.frame_skip) or None
    return EnvFacts(env.observation, env.action, limit, tells_games=not told.evaluation, can_save=env.can_be_saved)
