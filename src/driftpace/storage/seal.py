"""Seals: the last hash of each log, noted in a file outside of the store, and signed if a key is given.

The hash of the last entry stands for the whole log before it. A store that holds fewer entries than a seal has lost some; one
whose entry of that number has another hash was rewritten.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftpace.errors import MissingExtraError, ParameterError, StateFileError
from driftpace.storage.base import Store

FORMAT = "driftpace-seal"
VERSION = 1
SHORTEST_KEY = 16
LARGEST = 64 << 20
"""Bytes of a seal: a million campaigns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenSeal:
    """A campaign that is not as it was sealed, in a sentence."""

    name: str
    sentence: str


def make_seal(store: Store, names: Iterable[str], *, at: str, key: "SealKey | None" = None) -> dict[str, Any]:
    """Return the seal of campaigns as a JSON value.

    Parameters
    ----------
    store : Store
        The store.
    names : iterable of str
        Campaigns that exist.
    at : str
        The current time in UTC.
    key : SealKey, optional
        Signs the seal.

    Examples
    --------
    >>> from driftpace.storage import Change, Entry, MemoryStore
    >>> store = MemoryStore()
    >>> entry = Entry(kind="created", body={}, at="2026-11-15T10:00:00Z")
    >>> store.create("churn", Change(entries=[entry], checkpoint=b"", summary={}))
    >>> seal = make_seal(store, ["churn"], at="2026-11-16T10:00:00Z")
    >>> seal["campaigns"][0]["entries"], broken_seals(seal, store)
    (1, [])
    """
    sealed = []
    for name in names:
        last = store.latest(name, limit=1)
        if last:
            sealed.append({"name": name, "entries": last[0].seq, "at": last[0].at, "hash": last[0].hash})
    seal: dict[str, Any] = {"format": FORMAT, "version": VERSION, "at": at, "campaigns": sealed}
    return seal if key is None else {**seal, "signature": key.sign(_content(seal))}


def read_seal(path: Path) -> dict[str, Any]:
    """Return the seal in a file, or raise StateFileError."""
    try:
        with path.open("rb") as file:
            seal = json.loads(file.read(LARGEST))
        whole = seal["format"] == FORMAT and all(
            isinstance(one["name"], str) and isinstance(one["hash"], str) and type(one["entries"]) is int
            for one in seal["campaigns"]
        )
    except OSError as error:
        raise ParameterError(
            f"must be a file that driftpace seal wrote; {str(path)!r} cannot be read: {error.strerror}.",
            owner="read_seal",
            name="seal",
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise StateFileError(f"{str(path)!r} is not a seal of driftpace, or is damaged.")
    if seal.get("version") != VERSION:
        raise StateFileError(
            f"{str(path)!r} is a seal of version {seal.get('version')!r} and this driftpace reads version {VERSION}; "
            "upgrade driftpace."
        )
    return dict(seal)


def check_signature(seal: Mapping[str, Any], key: "SealKey") -> None:
    """Raise StateFileError unless the seal was signed with the key."""
    signature = seal.get("signature")
    if not isinstance(signature, Mapping):
        raise StateFileError("the seal has no signature.")
    if not key.verifies(_content({name: seal[name] for name in seal if name != "signature"}), signature):
        raise StateFileError(
            "the signature of the seal does not fit the key: it was edited, or signed with another one."
        )


def broken_seals(seal: Mapping[str, Any], store: Store, *, name: str | None = None) -> list[BrokenSeal]:
    """Return the campaigns that are not as they were sealed; ``name`` checks only one."""
    broken = []
    for sealed in seal["campaigns"]:
        if name in (None, sealed["name"]):
            problem = _problem(sealed, store)
            if problem is not None:
                broken.append(BrokenSeal(name=sealed["name"], sentence=problem))
    return broken


def _problem(sealed: Mapping[str, Any], store: Store) -> str | None:
    name, count = sealed["name"], sealed["entries"]
    head = store.head(name)
    if head is None:
        return f"The campaign was sealed with {count:,} log entries and is not in the store."
    found = store.entries(name, after=count - 1, limit=1)
    if not found:
        lost = count - head.seq
        return (
            f"The log has {head.seq:,} entries and its seal {count:,}: the last {lost:,} were lost, as when the -wal file beside "
            "the store was cut or left behind; restore a backup."
        )
    if found[0].hash != sealed["hash"]:
        return f"Entry {count} or one before it was rewritten after it was sealed at {sealed['at']}."
    return None


class SealKey:
    """A key that signs seals: Ed25519 in PEM, or any other file of at least 16 bytes as a shared secret (HMAC-SHA-256)."""

    def __init__(self, secret: bytes) -> None:
        self._pem = secret.lstrip().startswith(b"-----BEGIN")
        self._secret = secret if self._pem else secret.strip()
        if len(self._secret) < SHORTEST_KEY:
            raise ParameterError(
                f"must have at least {SHORTEST_KEY} bytes; got {len(self._secret)}.", owner="seal", name="key"
            )

    @classmethod
    def read(cls, path: Path) -> "SealKey":
        """Return the key in a file."""
        try:
            with path.open("rb") as file:
                return cls(file.read(1 << 16))
        except OSError as error:
            raise ParameterError(
                f"must be a file with a key; {str(path)!r} cannot be read: {error.strerror}.", owner="seal", name="key"
            ) from None

    def sign(self, content: bytes) -> dict[str, str]:
        """Return the signature of a seal."""
        if not self._pem:
            return {"algorithm": "hmac-sha256", "value": hmac.new(self._secret, content, hashlib.sha256).hexdigest()}
        private, _ = self._ed25519()
        if private is None:
            raise ParameterError("must be a private key to sign with; got a public one.", owner="seal", name="key")
        return {"algorithm": "ed25519", "value": private.sign(content).hex()}

    def verifies(self, content: bytes, signature: Mapping[str, Any]) -> bool:
        """Return whether a signature fits."""
        value = str(signature.get("value"))
        if not self._pem:
            expected = hmac.new(self._secret, content, hashlib.sha256).hexdigest()
            return signature.get("algorithm") == "hmac-sha256" and hmac.compare_digest(expected, value)
        from cryptography.exceptions import InvalidSignature

        _, public = self._ed25519()
        try:
            public.verify(bytes.fromhex(value), content)
        except (InvalidSignature, ValueError):
            return False
        return signature.get("algorithm") == "ed25519"

    def _ed25519(self) -> tuple[Any, Any]:
        """Return the private key, None where the file holds a public one, and the public key."""
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
        except ImportError:
            raise MissingExtraError('a key in PEM needs cryptography: pip install "driftpace[seal]".') from None
        try:
            if b"PUBLIC KEY" in self._secret:
                private, public = None, load_pem_public_key(self._secret)
            else:
                private = load_pem_private_key(self._secret, password=None)
                public = private.public_key()
        except (ValueError, TypeError):
            private, public = None, None
        if not isinstance(public, Ed25519PublicKey) or not isinstance(private, Ed25519PrivateKey | None):
            raise ParameterError(
                "must be an Ed25519 key in PEM without a password; got another one.", owner="seal", name="key"
            )
        return private, public


def _content(seal: Mapping[str, Any]) -> bytes:
    return json.dumps(seal, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
