"""`dataclass` for frozen values, made quickly: a command makes some sixty of them at its start.

Up to Python 3.12 the standard decorator compiles six methods for each class and imports `inspect`,
which took half of a cold answer. Here the methods are shared, and a class that is used gets its
own `__init__` when its first value is made. The names stand for those of `dataclasses`, and mean
the same; type checkers see the originals.
"""

# ruff: noqa: A002, ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, ARG001
# Checkers read the originals; what stands here only runs.

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 13):
    from dataclasses import dataclass, field, fields, replace
else:
    from operator import attrgetter

    class _Factory:
        """A default that is made anew for each value."""

        __slots__ = ("make",)

        def __init__(self, make):
            self.make = make

    def field(*, default_factory):
        """A field whose default is made anew for each value, with no other option."""
        return _Factory(default_factory)

    def dataclass(cls=None, /, *, frozen, slots, **asked):
        """The class as a frozen, slotted one, with the methods that are asked for."""
        if not (frozen and slots):
            raise TypeError("for values that change, take the dataclass of dataclasses")

        def made(cls):
            return _made(cls, **asked)

        return made if cls is None else made(cls)

    class _Field:
        """The name of a field, which is all that this package asks."""

        __slots__ = ("name",)

        def __init__(self, name):
            self.name = name

    def fields(value):
        """The fields of a class or a value, each with its `name`."""
        return tuple(_Field(name) for name in value.__slots__)

    def replace(value, /, **changes):
        """The value with some fields changed."""
        cls = value.__class__
        for name in cls.__slots__:
            if name not in changes:
                changes[name] = getattr(value, name)
        return cls(**changes)

    class _Fields:
        """The fields as `dataclasses` keeps them, for its own functions; worked out when asked.

        They take this object's place in the class: what its `replace` asks twice a call.
        """

        __slots__ = ()

        def __get__(self, value, cls):
            import dataclasses  # noqa: PLC0415  # what this module is there to avoid

            kinds = {name: cls.__annotations__[name] for name in cls.__slots__}
            plain = type(cls.__name__, (), {"__annotations__": kinds})
            for name, default in cls.__defaults__.items():
                if isinstance(default, _Factory):
                    default = dataclasses.field(default_factory=default.make)  # noqa: PLW2901
                setattr(plain, name, default)
            made = dataclasses.dataclass(plain, kw_only=cls.__kw_only__).__dataclass_fields__
            cls.__dataclass_fields__ = made
            return made

    def _made(cls, *, kw_only=False, eq=True, repr=True):
        own = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
        names = tuple(
            name
            for name, kind in cls.__annotations__.items()
            if not str(kind).startswith("ClassVar")
        )
        defaults = {name: own.pop(name) for name in names if name in own}
        own |= {
            "__slots__": names,
            "__defaults__": defaults,
            "__kw_only__": kw_only,
            "__match_args__": () if kw_only else names,
            "__dataclass_fields__": _Fields(),
            "__init__": _first_init,
            "__setattr__": _refuse_to_set,
            "__delattr__": _refuse_to_delete,
            "__getstate__": _getstate,
            "__setstate__": _setstate,
        }
        if eq:
            own["__values__"] = attrgetter(*names) if names else staticmethod(_nothing)
            own["__eq__"] = _eq
            own.setdefault("__hash__", _hash)
        if repr:
            own.setdefault("__repr__", _repr)
        made = type(cls)(cls.__name__, cls.__bases__, own)
        made.__qualname__ = cls.__qualname__
        return made

    def _first_init(self, /, *given, **named):
        """Make the class's own `__init__` and go on with it."""
        cls = self.__class__
        parameters, lines, known = [], [], {"set_": object.__setattr__, "Factory": _Factory}
        for name in cls.__slots__:
            default = cls.__defaults__.get(name, known)
            if default is known:
                parameters.append(name)
            else:
                known[f"default_{name}"] = default
                parameters.append(f"{name}=default_{name}")
                if isinstance(default, _Factory):
                    lines.append(f" if {name} is default_{name}: {name} = {name}.make()")
            lines.append(f" set_(self, {name!r}, {name})")
        if "__post_init__" in cls.__dict__:
            lines.append(" self.__post_init__()")
        between = ["*"] if cls.__kw_only__ and parameters else []
        head = ", ".join(["self", *between, *parameters])
        exec(f"def __init__({head}):\n" + "\n".join(lines or [" pass"]), known)
        init = known["__init__"]
        init.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = init
        init(self, *given, **named)

    def _nothing(value):
        """The values of a class without fields."""
        return ()

    def _eq(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or self.__values__(self) == self.__values__(other)

    def _hash(self):
        return hash(self.__values__(self))

    def _repr(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{self.__class__.__qualname__}({shown})"

    def _getstate(self):
        return [getattr(self, name) for name in self.__slots__]

    def _setstate(self, state):
        for name, value in zip(self.__slots__, state, strict=True):
            object.__setattr__(self, name, value)

    def _refuse_to_set(self, name, value):
        raise _frozen_error(f"cannot assign to field {name!r}")

    def _refuse_to_delete(self, name):
        raise _frozen_error(f"cannot delete field {name!r}")

    def _frozen_error(text):
        from dataclasses import FrozenInstanceError  # noqa: PLC0415  # as above

        return FrozenInstanceError(text)


__all__ = ["dataclass", "field", "fields", "replace"]
