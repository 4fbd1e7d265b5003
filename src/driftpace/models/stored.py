"""A model that a store holds: bytes with a format and a hash, read when it is first used."""

import base64
import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from driftpace.errors import ParameterError, StateFileError
from driftpace.models.adapter import ModelAdapter
from driftpace.models.artefacts import adapter_of_artefact

MOST_BYTES = 64 * 2**20
"""The largest model that a store keeps, before compression."""

_KEPT = 4
_read: "OrderedDict[tuple[str, str], ModelAdapter]" = OrderedDict()
_lock = Lock()


def pack_model(adapter: ModelAdapter, *, owner: str) -> tuple[dict[str, Any], bytes]:
    """Return what the log says of a model, and its bytes for the store; refuse one that cannot be saved or is too large."""
    if adapter.format is None:
        raise ParameterError(
            f"must be of a kind that a store can keep without running code; {type(adapter).__name__} is not.",
            owner=owner,
            name="model",
        )
    data = adapter.dump()
    if len(data) > MOST_BYTES:
        raise ParameterError(
            f"must be at most {MOST_BYTES // 2**20} MiB; got {len(data) / 2**20:.1f} MiB.", owner=owner, name="model"
        )
    digest = hashlib.sha256(data).hexdigest()
    return {"format": adapter.format, "sha256": digest, "bytes": len(data)}, zlib.compress(data, 6)


class StoredModel:
    """A model by its format and hash; ``fetch`` returns its packed bytes, and is called when the model is first used.

    Parameters
    ----------
    form : str
        The name of its format.
    sha256 : str
        The hash of its bytes.
    fetch : callable
        Returns the bytes of :func:`pack_model`; None where they are gone.
    """

    def __init__(self, form: str, sha256: str, fetch: Callable[[], bytes | None]) -> None:
        self.form, self.sha256, self._fetch = form, sha256, fetch

    @property
    def adapter(self) -> ModelAdapter:
        """The model; StateFileError where it is missing or damaged."""
        key = (self.form, self.sha256)
        with _lock:
            if key in _read:
                _read.move_to_end(key)
                return _read[key]
        made = adapter_of_artefact(
            {"format": self.form, "sha256": self.sha256, "data": base64.b64encode(self.data()).decode()}
        )
        with _lock:
            _read[key] = made
            while len(_read) > _KEPT:
                _read.popitem(last=False)
        return made

    def data(self) -> bytes:
        """Return the bytes of the model, read from the store; StateFileError where they are missing or damaged."""
        packed = self._fetch()
        if packed is None:
            raise StateFileError(f"the model {self.sha256[:12]} is not in the store; restore a backup.")
        try:
            unpacking = zlib.decompressobj()
            data = unpacking.decompress(packed, MOST_BYTES + 1)
        except zlib.error as error:
            raise StateFileError(f"the model {self.sha256[:12]} is damaged: {error}; restore a backup.") from None
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise StateFileError(f"the model {self.sha256[:12]} is damaged: its hash does not match; restore a backup.")
        return data
