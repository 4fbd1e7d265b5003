"""Run benchmarks and print their results: python -m benchmarks [name ...], or python -m benchmarks name --options."""

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
    "adaptive_speed",
    "real_tables",
    "raw_tables",
    "targets",
    "audit",
    "planning",
    "montecarlo",
    "selection",
    "service",
)
"""Run when no name is given. synthetic_study takes hours, any_target several, any_model up to one, batches one hour, classes half
an hour, orders, choice, fleet, absolute_targets, splines and class_worlds a quarter, late, alarm, alarm_tables, target_worlds,
wide, wide_classes, fleet_speed, fleet_peers, fleet_page and fleet_budget some minutes: run them by name, or with make study."""


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
