"""The one exception a user is meant to read."""


class UserError(Exception):
    """Something the user can put right: bad input, a bad setting, a missing device.

    The message is one sentence that names the file (and line) or the setting and says what to do.
    The command line and the workflow scripts print it without a traceback and exit with status 1.
    """
