"""Tables of request bodies: small texts are read in this process, everything else in a child process of bounded memory."""

from driftpace.service.reading.body import Arrays, Rows, TableRequest
from driftpace.service.reading.reader import TableReader, is_small_text

__all__ = ["Arrays", "Rows", "TableReader", "TableRequest", "is_small_text"]
