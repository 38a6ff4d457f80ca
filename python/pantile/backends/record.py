"""Unchangeable objects of named values.

A frozen dataclass would do, but that module compiles the methods of each class at its import, which
is 2 ms of every process that launches a kernel.
"""


class Record:
    """Values under the names that a subclass annotates, with its defaults.

    Two are equal, and hash alike, if they are of one class and all values are equal.
    """

    __match_args__ = ()

    def __init_subclass__(cls):
        cls.__match_args__ += tuple(cls.__annotations__)

    def __init__(self, *values, **named):
        """Take values in order or by name; TypeError if one is missing, unknown or given twice."""
        names, kind = self.__match_args__, type(self).__name__
        if len(values) > len(names):
            raise TypeError(f"{kind} takes at most {len(names)} values, not {len(values)}")
        given = dict(zip(names, values))
        for name in named:
            if name in given or name not in names:
                problem = "two values for" if name in given else "no value called"
                raise TypeError(f"{kind} has {problem} `{name}`")
        given.update(named)
        for name in names:
            if name not in given and not hasattr(type(self), name):
                raise TypeError(f"{kind} misses a value for `{name}`")
            self.__dict__[name] = given[name] if name in given else getattr(type(self), name)

    def _values(self):
        return tuple(self.__dict__[name] for name in self.__match_args__)

    def __setattr__(self, name, value):
        raise AttributeError(f"cannot assign to `{name}` of a {type(self).__name__}")

    def __delattr__(self, name):
        raise AttributeError(f"cannot delete `{name}` of a {type(self).__name__}")

    def __eq__(self, other):
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({values})"
