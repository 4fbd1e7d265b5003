"""Tables: read them within size limits, draw rows to label, write rows.

Nothing here knows of periods or models. :func:`read_columns` reads every format, for every part of driftpace.
"""

from driftpace.tables.columns import Column, to_arrays
from driftpace.tables.encoding import CategoryColumn, EncodedRows, Encoding, NumberColumn
from driftpace.tables.label_studio import ROW_FOR, ROW_ID, row_for, rows_of_export
from driftpace.tables.learn import LearnedEncoding, learn_encoding
from driftpace.tables.limits import LOCAL_LIMITS, MAX_CATEGORIES, TableLimits
from driftpace.tables.read import FileKind, read_columns
from driftpace.tables.sample import DrawnRows, content_ids, draw_rows, row_ids
from driftpace.tables.target_encoder import TargetEncoder
from driftpace.tables.text import TextTerms
from driftpace.tables.write import rows_of, write_rows

__all__ = [
    "LOCAL_LIMITS",
    "MAX_CATEGORIES",
    "ROW_FOR",
    "ROW_ID",
    "CategoryColumn",
    "Column",
    "DrawnRows",
    "EncodedRows",
    "Encoding",
    "FileKind",
    "LearnedEncoding",
    "NumberColumn",
    "TableLimits",
    "TargetEncoder",
    "TextTerms",
    "content_ids",
    "draw_rows",
    "learn_encoding",
    "read_columns",
    "row_for",
    "row_ids",
    "rows_of",
    "rows_of_export",
    "to_arrays",
    "write_rows",
]
