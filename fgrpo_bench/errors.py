"""The two ways a command ends early on purpose."""


class UserError(Exception):
    """Wrong use or bad input: exit code 2 and this message, one line: what, where, how to mend."""


class Interrupted(Exception):
    """Stopped before the end with the work kept: exit code 3."""
