"""The ways a command ends early on purpose; each message is one line."""


class UserError(Exception):
    """Wrong use or bad input, exit code 2: what is wrong, where, and how to mend it."""


class Interrupted(Exception):
    """Stopped before the end with the work kept, exit code 3."""


class Failed(Exception):
    """A worker broke down by itself, exit code 1: running it again would not help."""
