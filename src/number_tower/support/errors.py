"""The error that all errors of this package are."""


class NumberTowerError(Exception):
    """Something that was asked for cannot be done; the message says why, and what would be right.

    `reason` is one word of it for programs.

    Examples:
        >>> try:
        ...     nt.rules("chess")
        ... except nt.NumberTowerError as error:
        ...     print(error.reason)
        unknown_game
    """

    reason: str = "failed"
