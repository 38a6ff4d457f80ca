"""A plugin of pytest that runs only some cases of each test function: `-p sampling --cases 3`.

The first and the last are among them, and the others are spread evenly, so that a run is the same
with either package.
"""


def pytest_addoption(parser):
    parser.addoption("--cases", type=int, default=0, help="cases per test function; 0: all")


def spread(items, count):
    """Return `count` of the items at even distances, both ends included."""
    if len(items) <= count:
        return items
    steps = max(1, count - 1)
    return [items[round(i * (len(items) - 1) / steps)] for i in range(count)]


def pytest_collection_modifyitems(config, items):
    count = config.getoption("--cases")
    if not count:
        return
    functions = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    items[:] = [item for cases in functions.values() for item in spread(cases, count)]
