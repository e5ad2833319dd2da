"""The errors a user can cause; each message says what was found, what was expected and what to do."""


class CourtsideError(Exception):
    """Base of every error that is the user's to mend: printed as one sentence, exit status 2."""


class ConfigError(CourtsideError):
    """A setting, name or combination of settings that cannot work."""


class EnvContractError(CourtsideError):
    """An environment that breaks the contract, or a worker that failed while stepping it."""


class CheckpointError(CourtsideError):
    """A run folder or checkpoint that is missing, broken, foreign or does not fit."""
