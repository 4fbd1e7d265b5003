"""Logs of the service: one JSON object on each line of standard error."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO


class Facts(dict[str, Any]):
    """What a line of the log holds; as a message it is JSON, which is written only where somebody reads it.

    >>> str(Facts(event="request", status=200))
    '{"event":"request","status":200}'
    """

    def __str__(self) -> str:
        return json.dumps(self, separators=(",", ":"))


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object: when, how grave, where from, and what.

    >>> record = logging.LogRecord("driftpace.service", logging.INFO, "", 0, Facts(event="request", status=200), None, None)
    >>> json.loads(JsonLines().format(record))["status"]
    200
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line |= record.msg if isinstance(record.msg, Facts) else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def write_logs(stream: TextIO | None = None, *, level: int = logging.INFO) -> logging.Handler:
    """Send the service's logs, and the server's own warnings, to a stream as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines())
    for name, least in (("driftpace.service", level), ("uvicorn", max(level, logging.WARNING))):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(least)
        logger.propagate = False
    return handler
