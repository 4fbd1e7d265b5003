"""Rows and ids as bytes, with a hash that stays when rows of a person are deleted.

Rows are exact to the bit: a line of JSON that describes the arrays, then the arrays, compressed. The log keeps the hash of the
rows: one of the hashes of all rows, each with a random salt. A row that is deleted leaves its hash behind but not its salt, so
that the others can still be verified and its content cannot be guessed.
"""

import base64
import hashlib
import json
import secrets
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from driftpace.errors import StateFileError
from driftpace.storage.inflate import deflate, inflate
from driftpace.tracker.method import TellEvent

_ARRAYS = ("X", "y", "groups", "weights", "earlier_weights")
_SALT = 16


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PackedRows:
    """Validated rows with their ids, if they have any; ``erased`` counts the rows of a delivery that were deleted."""

    event: TellEvent
    ids: tuple[str, ...] | None = None
    erased: int = 0


class KeptRows(NamedTuple):
    """The bytes of rows or ids for the store, and their hash for the log."""

    data: bytes
    hash: str


def pack_rows(packed: PackedRows) -> KeptRows:
    """Encode a delivery as bytes.

    >>> rows = PackedRows(event=TellEvent(X=np.ones((2, 1)), y=np.zeros(2)), ids=("a", "b"))
    >>> kept = pack_rows(rows)
    >>> unpack_rows(kept.data).ids, unpack_rows(kept.data).event.X.tolist(), hash_of(kept.data) == kept.hash
    (('a', 'b'), [[1.0], [1.0]], True)
    """
    head, body = _plain(packed)
    head["key"] = secrets.token_hex(_SALT)
    return KeptRows(_compressed(head, body), _rows_hash(head, body))


def rows_content(packed: PackedRows) -> bytes:
    """Return the bytes of a delivery before compression, whose result depends on the machine."""
    head, body = _plain(packed)
    return json.dumps(head).encode() + b"\n" + body


def _plain(packed: PackedRows) -> tuple[dict[str, Any], bytes]:
    rows = packed.event
    names = [name for name in _ARRAYS if getattr(rows, name) is not None]
    head = {
        "rows": int(rows.X.shape[0]),
        "features": int(rows.X.shape[1]),
        "columns": rows.columns,
        "ids": packed.ids,
        "arrays": names,
        **({} if rows.annotators is None else {"annotators": rows.annotators}),
    }
    if rows.earlier_weights is not None:
        head["earlier"] = len(rows.earlier_weights)
    arrays = [getattr(rows, name).astype("<i8" if name == "groups" else "<f8") for name in names]
    return head, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def unpack_rows(data: bytes) -> PackedRows:
    """Decode a delivery."""
    try:
        head, body = _unpacked(data)
        rows, features = head["rows"], head["features"]
        arrays = {
            name: part.view("<i8" if name == "groups" else "<f8").astype("=i8" if name == "groups" else "=f8")
            for name, part in _parts(head, body).items()
        }
        columns = None if head["columns"] is None else tuple(head["columns"])
        ids = None if head["ids"] is None else tuple(head["ids"])
        annotators = tuple(head["annotators"]) if "annotators" in head else None
        event = TellEvent(
            X=arrays["X"].reshape(rows, features),
            y=arrays["y"],
            columns=columns,
            groups=arrays.get("groups"),
            weights=arrays.get("weights"),
            earlier_weights=arrays.get("earlier_weights"),
            ids=None if annotators is None else ids,
            annotators=annotators,
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StateFileError(f"the rows of a delivery are damaged: {error}.") from None
    return PackedRows(event=event, ids=ids, erased=len(head.get("erased", ())))


def ids_of_rows(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the ids of a delivery, none where it has none, and its annotators; the arrays are not read."""
    try:
        head, _ = _unpacked(data)
        return tuple(head["ids"] or ()), tuple(head["annotators"]) if "annotators" in head else None
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StateFileError(f"the rows of a delivery are damaged: {error}.") from None


def _unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    line, _, body = inflate(data).partition(b"\n")
    head: dict[str, Any] = json.loads(line)
    return head, body


def _parts(head: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the bytes of each array of a delivery."""
    rows, features = head["rows"], head["features"]
    parts, at = {}, 0
    for name in head["arrays"]:
        size = 8 * (head["earlier"] if name == "earlier_weights" else rows * (features if name == "X" else 1))
        parts[name] = np.frombuffer(body, dtype=np.uint8, count=size, offset=at)
        at += size
    return parts


def _compressed(head: Mapping[str, Any], body: bytes) -> bytes:
    return deflate(json.dumps(head).encode() + b"\n" + body)


Labels = dict[str, set[str | None]]
"""Who labelled each row, by id; None where that is not known."""


def labels_in(deliveries: Iterable[bytes]) -> Labels:
    """Return who labelled the rows of deliveries; rows without an id are not included."""
    return labels_of(ids_of_rows(data) for data in deliveries)


def labels_of(deliveries: Iterable[tuple[tuple[str, ...], tuple[str, ...] | None]]) -> Labels:
    """Return who labelled rows, by the ids and annotators of deliveries."""
    found: Labels = {}
    for ids, annotators in deliveries:
        for row_id, name in zip(ids, annotators or repeat(None), strict=False):
            found.setdefault(row_id, set()).add(name)
    return found


def repeated_labels(packed: PackedRows, labels: Labels) -> list[bool]:
    """Return which rows of a delivery were delivered before: a label by another annotator is not the same one."""
    names = packed.event.annotators or repeat(None)
    return [
        bool(labels.get(row_id)) and (name is None or name in labels[row_id] or None in labels[row_id])
        for row_id, name in zip(packed.ids or (), names, strict=False)
    ]


def pack_ids(ids: Sequence[str], weights: Sequence[float] | None = None) -> KeptRows:
    """Encode a list of ids as bytes, with the weights of the rows where they have any."""
    plain: dict[str, Any] = {"ids": list(ids), "key": secrets.token_hex(_SALT)}
    if weights is not None:
        plain["weights"] = [float(one) for one in weights]
    return KeptRows(deflate(json.dumps(plain).encode()), _ids_hash(plain))


def unpack_ids(data: bytes) -> tuple[str, ...]:
    """Decode a list of ids; no bytes are an empty list.

    >>> unpack_ids(pack_ids(["a", "b"]).data), unpack_ids(b"")
    (('a', 'b'), ())
    """
    plain = _plain_ids(data)
    return tuple(plain["ids"] if isinstance(plain, dict) else plain)


def unpack_weights(data: bytes) -> dict[str, float]:
    """Decode the weights of drawn rows by id; none where they count alike.

    >>> unpack_weights(pack_ids(["a", "b"], [0.5, 2.0]).data), unpack_weights(pack_ids(["a"]).data)
    ({'a': 0.5, 'b': 2.0}, {})
    """
    plain = _plain_ids(data)
    return dict(zip(plain["ids"], plain["weights"], strict=True)) if "weights" in plain else {}


def _plain_ids(data: bytes) -> Any:
    """Return what was packed: a list of ids, or ids with weights and salts."""
    try:
        plain = json.loads(inflate(data)) if data else []
    except (zlib.error, ValueError, TypeError) as error:
        raise StateFileError(f"the list of drawn rows is damaged: {error}.") from None
    whole = isinstance(plain, list) or (isinstance(plain, dict) and "ids" in plain)
    if not whole:
        raise StateFileError("the list of drawn rows is damaged: it has no ids.")
    return plain


def hash_of(data: bytes) -> str:
    """Return the hash of stored rows or ids, as the log has it, or raise StateFileError where they are damaged.

    Bytes that an earlier version wrote have no salts: the hash is that of their content.
    """
    try:
        content = inflate(data)
        line, _, body = content.partition(b"\n")
        head = json.loads(line)
        if (isinstance(head, dict) and "key" not in head and "salts" not in head) or isinstance(head, list):
            return hashlib.sha256(content).hexdigest()
        return _rows_hash(head, body) if "arrays" in head else _ids_hash(head)
    except (zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
        raise StateFileError(f"stored rows are damaged: {error}.") from None


def salted(data: bytes) -> KeptRows:
    """Return rows or ids that an earlier version wrote with salts; others as they are."""
    content = inflate(data)
    line, _, body = content.partition(b"\n")
    head = json.loads(line)
    if isinstance(head, list) or (isinstance(head, dict) and "weights" in head and "arrays" not in head):
        head = {"ids": head} if isinstance(head, list) else head
    if "key" in head or "salts" in head:
        return KeptRows(data, hash_of(data))
    head["key"] = secrets.token_hex(_SALT)
    if "arrays" in head:
        return KeptRows(_compressed(head, body), _rows_hash(head, body))
    return KeptRows(deflate(json.dumps(head).encode()), _ids_hash(head))


def without(data: bytes, ids: Collection[str]) -> tuple[bytes, dict[str, str]]:
    """Return stored rows or ids without those of ``ids``, and the hashes of these, which stay, by their original places.

    >>> kept = pack_ids(["a", "b", "c"])
    >>> data, erased = without(kept.data, {"b"})
    >>> unpack_ids(data), list(erased), erased_in(data) == erased, hash_of(data) == kept.hash
    (('a', 'c'), ['1'], True, True)
    """
    head, body = _unpacked(data)
    places = [place for place, row_id in enumerate(_ids(head)) if row_id in ids]
    if not places:
        return data, {}
    if "key" not in head and "salts" not in head:
        raise StateFileError("the rows of a delivery were stored by an earlier version; run driftpace upgrade.")
    gone, leaves, salts = set(places), _leaves(head, body), _salts(head)
    kept = [place for place in range(len(head["ids"])) if place not in gone]
    positions = _positions(head)
    erased = {str(positions[place]): leaves[positions[place]].hex() for place in places}
    after = {name: value for name, value in head.items() if name != "key"}
    after |= {"erased": {**head.get("erased", {}), **erased}}
    after["salts"] = base64.b64encode(b"".join(salts[place] for place in kept)).decode()
    for name in ("ids", "annotators", "weights"):
        if head.get(name) is not None:
            after[name] = [head[name][place] for place in kept]
    if "arrays" not in head:
        return deflate(json.dumps(after).encode()), erased
    after["rows"] = len(kept)
    rows = [
        part.tobytes() if name == "earlier_weights" else part.reshape(head["rows"], -1)[kept].tobytes()
        for name, part in _parts(head, body).items()
    ]
    return _compressed(after, b"".join(rows)), erased


def erased_in(data: bytes) -> dict[str, str]:
    """Return the hashes of the rows that were deleted from stored rows or ids, by their original places."""
    head = json.loads(inflate(data).partition(b"\n")[0])
    return dict(head.get("erased", {})) if isinstance(head, dict) else {}


def _ids(head: Any) -> Sequence[str]:
    """Return the ids of rows or of a list; none where rows have none."""
    return (head["ids"] or ()) if isinstance(head, dict) else head


def _salts(head: Mapping[str, Any]) -> list[bytes]:
    """Return the salt of each row that is there."""
    count = len(head["ids"])
    if "salts" in head:
        salts = base64.b64decode(head["salts"])
    else:
        salts = hashlib.shake_256(bytes.fromhex(head["key"])).digest(_SALT * count)
    return [salts[_SALT * place : _SALT * (place + 1)] for place in range(count)]


def _positions(head: Mapping[str, Any]) -> list[int]:
    """Return the original place of each row that is there."""
    erased = {int(place) for place in head.get("erased", ())}
    whole = range(len(head["ids"]) + len(erased))
    return [place for place in whole if place not in erased] if erased else list(whole)


def _leaves(head: Mapping[str, Any], body: bytes) -> dict[int, bytes]:
    """Return the hash of each row by its original place, those of deleted rows included."""
    ids, names = head["ids"], head.get("annotators")
    if "arrays" in head and ids:
        parts = [
            part.reshape(head["rows"], -1) for name, part in _parts(head, body).items() if name != "earlier_weights"
        ]
        wide = np.ascontiguousarray(np.concatenate(parts, axis=1)) if parts else np.empty((len(ids), 0), dtype=np.uint8)
        width, cells = wide.shape[1], wide.tobytes()
        contents = (cells[width * place : width * (place + 1)] for place in range(len(ids)))
    else:
        contents = (repr(weight).encode() for weight in head.get("weights") or [1.0] * len(ids))
    leaves = {int(place): bytes.fromhex(leaf) for place, leaf in head.get("erased", {}).items()}
    by = names or repeat("")
    for place, salt, row_id, name, content in zip(_positions(head), _salts(head), ids, by, contents, strict=False):
        leaves[place] = hashlib.sha256(salt + json.dumps([row_id, name]).encode() + content).digest()
    return leaves


def _rows_hash(head: Mapping[str, Any], body: bytes) -> str:
    names = [name for name in head["arrays"] if name != "earlier_weights"]
    facts = [head["features"], head["columns"], names, "annotators" in head]
    digest = hashlib.sha256(json.dumps(facts).encode())
    if "earlier_weights" in head["arrays"]:
        digest.update(hashlib.sha256(_parts(head, body)["earlier_weights"].tobytes()).digest())
    if head["ids"] is None:
        digest.update(bytes.fromhex(head["key"]) + body)
    else:
        _add_leaves(digest, _leaves(head, body))
    return digest.hexdigest()


def _ids_hash(head: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(["ids", "weights" in head]).encode())
    _add_leaves(digest, _leaves(head, b""))
    return digest.hexdigest()


def _add_leaves(digest: Any, leaves: Mapping[int, bytes]) -> None:
    digest.update(b"".join(leaves[place] for place in range(len(leaves))))
