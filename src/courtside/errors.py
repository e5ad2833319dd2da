"""The errors a user can cause; each message says what was found, what was expected and what to do."""

from __future__ import annotations


class CourtsideError(Exception):
    """Base of every error that is the user's to mend: printed as one sentence, exit status 2."""


class ConfigError(CourtsideError):
    """A setting, name or combination of settings that cannot work."""


class TrustError(ConfigError):
    """A run or preset file from elsewhere names code or files, and nobody here has said that they may be used."""

    def __init__(self, found: str, advice: str, keys: tuple[str, ...]) -> None:
        super().__init__(f"{found}. {advice}")
        self.found, self.keys = found, keys
        """What is named, and what `trust.agree_to` is told by whoever agrees to it."""


class EnvContractError(CourtsideError):
    """An environment that breaks the contract, or a worker that failed while stepping it."""


class CheckpointError(CourtsideError):
    """A run folder or checkpoint that is missing, broken, foreign or does not fit."""


def printable(text: str) -> str:
    """What others wrote, without the signs by which it could write over a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def describe_error(error: BaseException) -> str:
    """An error of somebody's code in a few words on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
