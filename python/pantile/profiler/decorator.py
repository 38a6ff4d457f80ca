"""Context managers that are decorators of functions as well."""

import copy
from functools import wraps


class Decorator:
    """Runs each call of a function within a copy of this context manager, as calls may overlap."""

    def __call__(self, func):
        @wraps(func)
        def wrapper(*args, **kwargs):
            with copy.copy(self):
                return func(*args, **kwargs)

        return wrapper
