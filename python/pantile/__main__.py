"""`python -m pantile tune report`: what the tuner measured."""

import sys


def main(arguments=None):
    """Run the command that the words name; return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["tune"]:
        from .tools.tune import main as tune

        return tune(words[1:])
    print(
        "usage: python -m pantile tune report [-h] ...\n"
        "The compiler's own commands are those of `pantilec`.",
        file=sys.stderr,
    )
    return 0 if words[:1] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
