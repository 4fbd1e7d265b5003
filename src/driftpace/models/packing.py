"""What adapters share: a model's bytes with a few facts as JSON, and the stages of boosting."""

import base64
import json
from typing import Any

STAGES = (0.05, 0.1, 0.2, 0.4, 1.0)
"""The shares of the training after which scores are compared."""


def stages_of(total: int) -> list[int]:
    """Return the numbers of rounds after which scores are compared.

    >>> stages_of(100)
    [5, 10, 20, 40, 100]
    """
    return [max(1, round(share * total)) for share in STAGES]


def pack(data: bytes, **facts: Any) -> bytes:
    """Return bytes and facts as one JSON text.

    >>> unpack(pack(b"model", task="counts"))
    (b'model', {'task': 'counts'})
    """
    return json.dumps({**facts, "data": base64.b64encode(data).decode()}).encode()


def unpack(packed: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return what :func:`pack` was given."""
    facts = json.loads(packed)
    return base64.b64decode(facts.pop("data"), validate=True), facts
