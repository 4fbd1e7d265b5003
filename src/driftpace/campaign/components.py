"""The components that a pool has shown, kept once beside the log entry that learned them.

They are large and never change: checkpoints, and the hashes of states, leave them out and name their hash.
"""

import hashlib
import json
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from driftpace.errors import StateFileError
from driftpace.storage.codec import SHAPE_ERRORS, decode, encode
from driftpace.storage.inflate import deflate, inflate
from driftpace.tracker.budget_method import BudgetState
from driftpace.tracker.wide_method import WideMethodState
from driftpace.wide import Spectrum

_KEPT = 4
_read: "OrderedDict[str, Spectrum]" = OrderedDict()
_lock = Lock()


def pack_components(spectrum: Spectrum) -> tuple[dict[str, Any], bytes]:
    """Return what the log says of components, and their bytes for the store."""
    content = json.dumps(encode(spectrum), sort_keys=True, separators=(",", ":")).encode()
    facts = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": spectrum.rows,
        "columns": spectrum.columns,
        "count": spectrum.components,
        "explained": spectrum.explained,
    }
    return facts, deflate(content)


def unpack_components(sha256: str, packed: bytes | None) -> Spectrum:
    """Return the components with this hash; StateFileError where they are missing or damaged."""
    if packed is None:
        raise StateFileError(f"the components {sha256[:12]} are not in the store; restore a backup.")
    try:
        content = inflate(packed)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise StateFileError(
                f"the components {sha256[:12]} are damaged: their hash does not match; restore a backup."
            )
        spectrum = decode(json.loads(content))
    except (zlib.error, *SHAPE_ERRORS) as error:
        raise StateFileError(f"the components {sha256[:12]} are damaged: {error}; restore a backup.") from None
    if not isinstance(spectrum, Spectrum):
        raise StateFileError(f"the components {sha256[:12]} are damaged; restore a backup.")
    return spectrum


def read_components(sha256: str, fetch: Callable[[], bytes | None]) -> Spectrum:
    """Return the components with this hash, from memory where they were read before."""
    with _lock:
        if sha256 in _read:
            _read.move_to_end(sha256)
            return _read[sha256]
    spectrum = unpack_components(sha256, fetch())
    with _lock:
        _read[sha256] = spectrum
        while len(_read) > _KEPT:
            _read.popitem(last=False)
    return spectrum


def with_components(state: Any, spectrum: Spectrum) -> Any:
    """Return the state of a wide method with components that were left out of it."""
    return _with_basis(state, spectrum.basis)


def without_components(state: Any) -> Any:
    """Return the state of a wide method as checkpoints hold it: what is known of the components, without their directions."""
    return _with_basis(state, np.empty((0, 0)))


def _with_basis(state: Any, basis: Any) -> Any:
    if isinstance(state, BudgetState):
        return replace(state, inner=_with_basis(state.inner, basis))
    assert isinstance(state, WideMethodState)
    assert state.wide is not None
    return replace(state, wide=replace(state.wide, spectrum=replace(state.wide.spectrum, basis=basis)))
