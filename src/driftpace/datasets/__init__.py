"""Tables to try things on: two that come with driftpace, and a reader for your own extract of the income panel.

Nothing is fetched from anywhere. Where the numbers come from and on what terms is in the README of this folder, in each
docstring, and in each table's ``source`` and ``terms``.

>>> len(load_psid7682())
4165
"""

from driftpace.datasets.bundled import load_gss_income, load_psid7682
from driftpace.datasets.extract import load_psid_extract
from driftpace.datasets.table import Table

__all__ = ["Table", "load_gss_income", "load_psid7682", "load_psid_extract"]
