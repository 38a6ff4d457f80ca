"""Interleaved runs of contestants; and the end of a tuning, where near equals do.

One short measurement each picks by luck among near equals: two kernels of 5 µs, or of a card at its
limit of power, differ by more from one second to the next than from each other.
"""

import random
import statistics
import time

FINALISTS, SLACK, ROUNDS = 5, 1.15, 6


def final(times, launch_of, timer, finalists=FINALISTS, count=ROUNDS):
    """The configurations of `times` (each with its milliseconds) at most SLACK times slower than
    the fastest, `finalists` of them, by their medians over `count` interleaved rounds, forwards and backwards.

    `launch_of(config, number)` gives what runs in round `number`; `timer.median` measures it.
    """
    best = min(times.values())
    order = sorted((c for c in times if times[c] <= SLACK * best), key=times.get)[:finalists]
    rounds = {config: [] for config in order}
    for number in range(count if len(order) > 1 else 0):
        for config in order if number % 2 == 0 else reversed(order):
            rounds[config].append(timer.median(launch_of(config, number)))
    return sorted(order, key=lambda config: statistics.median(rounds[config] or [0.0]))


def in_turn(launches, timer, rounds, pause=0.0):
    """Median milliseconds of each of `launches` (a dictionary) over that many rounds.

    Each round has an order of its own, drawn by chance: at the limit of power, what ran before
    moves a kernel by up to a tenth. `pause` seconds go before each measurement.
    """
    times = {name: [] for name in launches}
    draw = random.Random(rounds)
    for _ in range(rounds):
        for name in draw.sample(list(launches), len(launches)):
            time.sleep(pause)
            times[name].append(timer.median(launches[name]))
    return {name: statistics.median(values) for name, values in times.items()}
