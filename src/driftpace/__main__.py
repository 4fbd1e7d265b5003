"""``python -m driftpace`` is the ``driftpace`` command."""

import sys

from driftpace.cli import main

if __name__ == "__main__":
    sys.exit(main())
