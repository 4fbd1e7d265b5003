"""Write the files of a release: ``python -m tests.storage.releases VERSION ADDRESS`` with an empty PostgreSQL database."""

import sys

from tests.storage.releases import cases

cases.write(sys.argv[1], sys.argv[2])
