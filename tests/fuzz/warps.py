"""Numbers of warps from 1 to 32 that are no powers of two, now and then.

Gives: `warps_or_any` for what a generator drew; `has_replicas` for the model of memory.
How:   by dice of its own, so that all else about a program stays as it is.
"""

import random

ANY = (3, 5, 6, 6, 7, 12, 12, 12, 20, 24)


def warps_or_any(number, seed):
    """The number that was drawn for the program of this seed, or for one of six another one."""
    dice = random.Random(f"warps of {seed}")
    if dice.random() >= 1 / 6:
        return number
    likely = dice.choice(ANY)
    return likely if dice.random() < 2 / 3 else dice.randint(1, 32)


def has_replicas(number):
    """Whether threads may hold copies even of a tile that has more elements than there are threads."""
    return number & (number - 1) != 0
