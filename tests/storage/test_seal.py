"""A seal tells that a log was cut or rewritten, and its signature that the seal itself was."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from driftpace.errors import ParameterError, StateFileError
from driftpace.storage import Change, Entry, MemoryStore
from driftpace.storage.seal import SealKey, broken_seals, check_signature, make_seal, read_seal

AT = "2026-11-19T10:00:00.000Z"


def a_store(entries: int = 3, reason: str = "") -> MemoryStore:
    store = MemoryStore()
    log = [Entry(kind="asked", body={"reason": reason, "n": place}, at=AT) for place in range(entries)]
    store.create("churn", Change(entries=log, checkpoint=b"", summary={}))
    return store


def test_a_log_that_grew_is_as_it_was_sealed() -> None:
    store = a_store()
    seal = make_seal(store, ["churn"], at=AT)
    more = Change(entries=[Entry(kind="asked", body={}, at=AT)], checkpoint=b"", summary={})
    store.append("churn", 3, more)
    assert broken_seals(seal, store) == []


def test_a_log_that_was_cut_rewritten_or_removed_is_named() -> None:
    seal = make_seal(a_store(), ["churn"], at=AT)
    (cut,) = broken_seals(seal, a_store(2))
    assert "has 2 entries and its seal 3: the last 1 were lost, as when the -wal file" in cut.sentence
    (rewritten,) = broken_seals(seal, a_store(3, reason="another"))
    assert rewritten.sentence == f"Entry 3 or one before it was rewritten after it was sealed at {AT}."
    (removed,) = broken_seals(seal, MemoryStore())
    assert removed.sentence == "The campaign was sealed with 3 log entries and is not in the store."
    assert broken_seals(seal, MemoryStore(), name="other") == []


def written(path: Path, seal: Any) -> Path:
    path.write_text(json.dumps(seal))
    return path


def test_a_shared_secret_signs_and_verifies(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"0123456789abcdef\n")
    key = SealKey.read(secret)
    seal = make_seal(a_store(), ["churn"], at=AT, key=key)
    again = read_seal(written(tmp_path / "a.seal", seal))
    check_signature(again, key)
    with pytest.raises(StateFileError, match="does not fit the key"):
        check_signature(again, SealKey(b"another secret of some length"))
    again["campaigns"][0]["entries"] = 2
    with pytest.raises(StateFileError, match="does not fit the key"):
        check_signature(again, key)
    del again["signature"]
    with pytest.raises(StateFileError, match="the seal has no signature"):
        check_signature(again, key)
    with pytest.raises(ParameterError, match=r"key=.*at least 16 bytes; got 5"):
        SealKey(b"short\n")


def test_an_ed25519_key_signs_and_its_public_half_verifies(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    private, public = tmp_path / "seal.pem", tmp_path / "seal.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    seal = make_seal(a_store(), ["churn"], at=AT, key=SealKey.read(private))
    assert seal["signature"]["algorithm"] == "ed25519"
    check_signature(seal, SealKey.read(public))
    check_signature(seal, SealKey.read(private))
    with pytest.raises(StateFileError, match="does not fit the key"):
        check_signature({**seal, "at": "later"}, SealKey.read(public))
    with pytest.raises(StateFileError, match="does not fit the key"):
        check_signature(seal, SealKey(b"a shared secret instead"))
    with pytest.raises(ParameterError, match="must be a private key to sign with"):
        make_seal(a_store(), ["churn"], at=AT, key=SealKey.read(public))
    with pytest.raises(ParameterError, match="Ed25519 key in PEM without a password"):
        SealKey(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----").sign(b"")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "driftpace-seal", "campaigns": [{}]}', "[" * 100_000])
def test_other_files_are_no_seals(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.seal"
    path.write_text(text)
    with pytest.raises(StateFileError, match="is not a seal of driftpace, or is damaged"):
        read_seal(path)


def test_a_newer_or_a_missing_seal_is_refused(tmp_path: Path) -> None:
    seal = make_seal(a_store(), ["churn"], at=AT)
    with pytest.raises(StateFileError, match="of version 2 and this driftpace reads version 1; upgrade driftpace"):
        read_seal(written(tmp_path / "a.seal", {**seal, "version": 2}))
    with pytest.raises(ParameterError, match="cannot be read: No such file"):
        read_seal(tmp_path / "none.seal")
    with pytest.raises(ParameterError, match="must be a file with a key"):
        SealKey.read(tmp_path / "none")
