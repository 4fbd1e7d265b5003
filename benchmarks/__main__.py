"""Run benchmarks and print what they say: python -m benchmarks [name ...], or python -m benchmarks name --its --options."""

import platform
import sys
from importlib import import_module

NAMES = (
    "sgd",
    "search",
    "tracker",
    "labels",
    "drift",
    "bounds",
    "pace_speed",
    "promise",
    "planning",
    "montecarlo",
    "selection",
    "service",
)
"""What runs without a name. worlds_study takes hours and batches one of them: they are asked for (make study, a name)."""


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    given = sys.argv[1:]
    begin = next((place for place, word in enumerate(given) if word.startswith("-")), len(given))
    names, options = given[:begin], given[begin:]
    if options and len(names) != 1:
        sys.exit("options belong to one benchmark: python -m benchmarks NAME --its --options")
    for name in names or NAMES:
        benchmark = import_module(f"benchmarks.{name}").main
        benchmark(options) if options else benchmark()


if __name__ == "__main__":
    main()
