"""Run every benchmark and print what it says: python -m benchmarks [name ...]."""

import platform
import sys
from importlib import import_module

NAMES = ("sgd", "search", "tracker", "labels", "drift", "bounds")


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for name in sys.argv[1:] or NAMES:
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
