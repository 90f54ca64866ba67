"""The errors that a user sees as one line."""


class InputError(ValueError):
    """Something that the user gave cannot be used; the message is one line that says what and where."""


class UsageError(InputError):
    """The command cannot start; the exit status is 2, not 1."""


class StoppedError(Exception):
    """The work was interrupted. Finished work is kept; the message says how to continue."""
