"""Files that lie beside a module."""

from __future__ import annotations

from os import listdir
from os.path import dirname, join


def read_beside(module: str, name: str) -> bytes:
    """The bytes of a file in the folder of a module, which is given by its `__file__`.

    Raises:
        OSError: no such file.
        ValueError: no name that a file can have.

    >>> read_beside(__file__, "py.typed")
    b''
    """
    # `Path`, `pkgutil` and `importlib.resources` take longer to import than a file to read.
    with open(join(dirname(module), name), "rb") as file:  # noqa: PTH118, PTH120, PTH123
        return file.read()


def named_beside(module: str, folder: str) -> list[str]:
    """What the JSON files of a folder beside a module are called, without their ending, sorted.

    >>> named_beside(__file__, "catalog")
    ['rates']
    """
    files = listdir(join(dirname(module), folder))  # noqa: PTH118, PTH120, PTH208  # as above
    return sorted(name.removesuffix(".json") for name in files if name.endswith(".json"))
