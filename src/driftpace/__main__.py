"""Run the ``driftpace`` command with ``python -m driftpace``."""

import sys

from driftpace.cli import main

if __name__ == "__main__":
    sys.exit(main())
