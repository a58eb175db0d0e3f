"""A package for the small site's API page."""


def halve(number: int) -> int:
    """Half of a number, rounded down.

    >>> halve(9)
    4

    Args:
        number: What is halved.
    """
    return number // 2
