"""Tables that people bring and take away: read within limits, rows drawn to be labelled, rows written.

Nothing here knows of periods or models. :func:`read_upload` is the door for what strangers send, and never takes more memory than
its :class:`Limits` allow; :func:`~driftpace.tables.columns.read_columns` is the door for one's own frames and files.
"""

from driftpace.tables.columns import Column, read_columns
from driftpace.tables.drawing import Drawn, draw_rows, row_ids
from driftpace.tables.exports import ROW_FOR, ROW_ID, row_for, rows_of_export
from driftpace.tables.limits import Limits
from driftpace.tables.upload import FileKind, read_upload
from driftpace.tables.writing import rows_of, write_rows

__all__ = [
    "ROW_FOR",
    "ROW_ID",
    "Column",
    "Drawn",
    "FileKind",
    "Limits",
    "draw_rows",
    "read_columns",
    "read_upload",
    "row_for",
    "row_ids",
    "rows_of",
    "rows_of_export",
    "write_rows",
]
