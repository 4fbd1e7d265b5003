"""Every kind of body, and bombs of every kind."""

import gzip
import io
import json
import resource
import tempfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftpace.service.reading import packing
from driftpace.service.uploads import KINDS, ReadAhead, Upload, read_rows
from driftpace.storage.base import Store
from tests.reference.periods import FEATURES, as_csv, begun, rows
from tests.reference.serving import PATIENCE, Serving, poll

PATH = "/api/campaigns/churn/deliveries"
MIB = 2**20


def table(count: int) -> Any:
    X, y = rows(np.random.default_rng(1), count)
    return pa.table({name: X[:, place] for place, name in enumerate(FEATURES)} | {"y": y})


def arrow_stream(made: Any) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    return sink.getvalue()


def arrow_file(made: Any) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made)
    return sink.getvalue()


def parquet(made: Any) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(made, sink)
    return sink.getvalue()


def bodies(count: int) -> dict[str, tuple[str, bytes]]:
    made = table(count)
    listed = made.to_pylist()
    X = np.column_stack([made[name].to_numpy() for name in FEATURES]).tolist()
    csv = as_csv(np.array(X), made["y"].to_numpy())
    return {
        "csv": ("text/csv; charset=utf-8", csv),
        "gzipped csv": ("text/csv", gzip.compress(csv)),
        "rows": ("application/json", json.dumps(listed).encode()),
        "columns": ("application/json", json.dumps({"columns": made.to_pydict()}).encode()),
        "arrays": ("application/json", json.dumps({"X": X, "y": made["y"].to_pylist()}).encode()),
        "gzipped arrays": ("application/json", gzip.compress(json.dumps({"X": X, "y": [0.5] * count}).encode())),
        "lines": ("application/x-ndjson", "\n".join(json.dumps(row) for row in listed).encode()),
        "arrow stream": ("application/vnd.apache.arrow.stream", arrow_stream(made)),
        "arrow file": ("application/vnd.apache.arrow.file", arrow_file(made)),
        "parquet": ("application/vnd.apache.parquet", parquet(made)),
    }


@pytest.fixture
def asked(served: Serving, store: Store) -> Serving:
    begun(store, "churn").ask()
    return served


@pytest.mark.parametrize("kind", bodies(1))
def test_every_media_type_is_read(asked: Serving, kind: str) -> None:
    media, body = bodies(6)[kind]
    answer = asked.client.post(f"{PATH}?final=false", content=body, headers={"Content-Type": media})
    assert answer.status_code == 200, answer.text
    assert answer.json()["rows"] == 6


def test_form_uploads_are_logged_with_their_name(asked: Serving, store: Store) -> None:
    for name, (_, body) in (("rows.csv", bodies(3)["csv"]), ("rows.parquet", bodies(4)["parquet"])):
        answer = asked.client.post(f"{PATH}?final=false", files={"file": (name, body)})
        assert answer.status_code == 200, answer.text
    told = store.entries("churn", kinds=("delivered",))
    assert [entry.body["source"] for entry in told] == ["REST: rows.csv", "REST: rows.parquet"]


def test_form_uploads_are_not_written_to_disk(asked: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[int] = []
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", lambda file: laid.append(file.tell()))
    body = bodies(2)["csv"][1] + b"\n" * (3 * MIB)
    answer = asked.client.post(f"{PATH}?final=false", files={"file": ("rows.csv", body)})
    assert (answer.status_code, laid) == (200, [])


def test_file_names_are_never_used_as_paths(asked: Serving, store: Store, tmp_path: Any) -> None:
    target = tmp_path / "there.csv"
    target.write_bytes(bodies(5)["csv"][1])
    answer = asked.client.post(f"{PATH}?final=false", files={"file": (str(target), bodies(2)["csv"][1])})
    assert answer.json()["rows"] == 2
    assert target.read_bytes() == bodies(5)["csv"][1]


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"a,y\n1,2\n", 415),
        ({"Content-Type": "application/pickle"}, b"\x80\x04.", 415),
        ({"Content-Type": "text/csv", "Content-Encoding": "br"}, b"a,y\n1,2\n", 415),
        ({"Content-Type": "text/csv"}, b"", 422),
        ({"Content-Type": "text/csv"}, b"a,b\n1,2\n", 422),
        ({"Content-Type": "text/csv"}, b"\xff\xfe\x00", 422),
        ({"Content-Type": "application/json"}, b"[" * 100_000, 422),
        ({"Content-Type": "application/json"}, b"[" * 100_000 + b"]" * 100_000, 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1, 2], [3]], "y": [1, 2]}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [["1"]], "y": [1]}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1e999]], "y": [1]}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1.0]]}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1.0]], "y": [1.0], "z": 1}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1.0]], "y": [1.0, 2.0]}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1.0]], "y": [1.0], "sample_weight": [-1.0]}', 422),
        ({"Content-Type": "application/json"}, b'{"X": [[1.0]], "y": [1.0], "sample_weight": ["a"]}', 422),
        ({"Content-Type": "application/vnd.apache.parquet"}, b"PAR1" + b"\0" * 100 + b"PAR1", 422),
        ({"Content-Type": "application/vnd.apache.arrow.stream"}, b"\xff\xff\xff\xff\x10\0\0\0", 422),
        ({"Content-Type": "multipart/form-data"}, b"x", 400),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\n\r\n\r\n--x--\r\n", 400),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--\r\n", 422),
    ],
)  # fmt: skip
def test_unreadable_bodies_are_refused_and_change_nothing(
    asked: Serving, store: Store, headers: dict[str, str], body: bytes, status: int
) -> None:
    before = len(store.entries("churn"))
    answer = asked.client.post(PATH, content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
    assert len(store.entries("churn")) == before


def test_invalid_forms_are_refused_with_a_message(asked: Serving) -> None:
    several = [("file", ("a.csv", b"y\n1\n"))] * 2
    said = asked.client.post(PATH, files=several).json()["error"]["message"]
    assert said == "the form cannot be parsed: Too many files. Maximum number of files is 1."


def zip_bomb() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("rows.csv", b"0," * (32 * MIB))
    return sink.getvalue()


def gzip_bomb() -> bytes:
    return gzip.compress(b"a,y\n" + b"0,0\n" * (256 * MIB // 4), 1)


def parquet_bomb() -> bytes:
    sink = io.BytesIO()
    made = pa.table({"a": pa.array(np.zeros(40_000_000)), "y": pa.array(np.zeros(40_000_000))})
    pyarrow.parquet.write_table(made, sink, compression="zstd")
    return sink.getvalue()


def json_bomb() -> bytes:
    return b'{"X": [' + b"[0]," * 12_000_000 + b'[0]], "y": [0]}'


@pytest.mark.parametrize(
    ("media", "bomb"),
    [
        ("text/csv", zip_bomb),
        ("application/vnd.apache.parquet", zip_bomb),
        ("text/csv", gzip_bomb),
        ("application/json", json_bomb),
        ("application/vnd.apache.parquet", parquet_bomb),
    ],
)
def test_decompression_bombs_are_refused_in_bounded_memory(asked: Serving, media: str, bomb: Any) -> None:
    body = bomb()
    assert len(body) < 64 * MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    answer = asked.client.post(PATH, content=body, headers={"Content-Type": media})
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    assert answer.status_code == 422, answer.text
    assert grown < 512 * MIB


def test_others_are_answered_while_a_table_is_read(asked: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table that is being read is stopped, and everything else goes on."""
    go, reading = threading.Event(), threading.Semaphore(0)
    unpack = packing.unpack_rows

    def stopped(packed: Any) -> Any:
        reading.release()
        assert go.wait(PATIENCE)
        return unpack(packed)

    monkeypatch.setattr("driftpace.service.reading.reader.unpack_rows", stopped)
    media, body = bodies(6)["parquet"]
    headers = {"Content-Type": media}
    with ThreadPoolExecutor() as clients:
        first = clients.submit(asked.client.post, "/api/schema?target=y", content=body, headers=headers)
        assert reading.acquire(timeout=PATIENCE)
        second = clients.submit(asked.client.post, f"{PATH}?final=false", content=body, headers=headers)
        assert reading.acquire(timeout=PATIENCE)
        third = clients.submit(asked.client.post, f"{PATH}?final=false&again=true", content=body, headers=headers)
        poll(lambda: asked.service.parsers.active == 3)  # no more than two at once: the third waits
        assert asked.client.get("/api/campaigns/churn").status_code == 200
        answer = asked.client.post(
            f"{PATH}?final=false", content=bodies(2)["csv"][1], headers={"Content-Type": "text/csv"}
        )
        assert answer.json()["rows"] == 2  # a small text does not wait for a child
        go.set()
        assert [one.result().status_code for one in (first, second, third)] == [200, 200, 200]


def test_a_table_refused_in_a_child_is_noted(asked: Serving, store: Store) -> None:
    body = gzip.compress(b"[{" + b",".join(b'"%d": 1' % place for place in range(200_000)) + b"}]")
    answer = asked.client.post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    sentence = "the upload must have at most 1,000 columns; an object in it has more names."
    assert answer.json()["error"]["message"] == f"deliveries: {sentence}"
    assert [refusal.sentence for refusal in store.refusals("churn")] == [sentence]


def test_one_long_text_costs_no_memory(asked: Serving) -> None:
    sink = io.BytesIO()
    made = pa.table({name: [1.0] for name in FEATURES} | {"y": ["x" * 100_000_000]})
    pyarrow.parquet.write_table(made, sink, compression="zstd")
    del made
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = asked.client.post(PATH, content=sink.getvalue(), headers={"Content-Type": bodies(1)["parquet"][0]})
    assert answer.status_code == 422
    assert "must have texts of at most 4 MiB in a cell" in answer.json()["error"]["message"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


def test_a_table_is_read_again_where_the_campaign_changed_meanwhile(asked: Serving, store: Store) -> None:
    """Read ahead without texts, a column that became one is read again as text."""
    body = gzip.compress(bodies(3)["csv"][1])
    upload = Upload(data=body, kind="csv", name=None)
    service, campaign = asked.service, asked.service.campaigns.get("churn")
    stale = ReadAhead(rows={}, as_text=("other",))
    again = read_rows(service, upload, campaign, stale, owner="deliveries")
    assert isinstance(again, dict)
    assert list(again) == [*FEATURES, "y"]
    fresh = ReadAhead(rows={}, as_text=tuple(campaign.text_columns))
    assert read_rows(service, upload, campaign, fresh, owner="deliveries") == {}


def test_arbitrary_bytes_never_cause_an_internal_error(asked: Serving) -> None:
    valid = [body for _, body in bodies(3).values()]
    media = st.sampled_from(
        [*(kind for kind in KINDS if kind != "multipart/form-data"), "multipart/form-data; boundary=x"]
    )

    def cut(body: bytes, at: int, piece: bytes) -> bytes:
        place = at % (len(body) + 1)
        return body[:place] + piece + body[place + len(piece) :]

    damaged = st.builds(cut, st.sampled_from(valid), st.integers(0, 10**6), st.binary(max_size=8))
    seen = set()

    @given(media=media, body=st.one_of(st.binary(max_size=200), damaged))
    @settings(max_examples=150, suppress_health_check=list(HealthCheck), database=None)
    def send(media: str, body: bytes) -> None:
        answer = asked.client.post(f"{PATH}?final=false", content=body, headers={"Content-Type": media})
        seen.add(answer.status_code)
        assert answer.status_code in (200, 400, 422), answer.text

    send()
    assert {200, 422} <= seen


def test_arrays_with_annotators_are_labels_of_rows(asked: Serving) -> None:
    body = {"X": [[1.0], [2.0], [1.0]], "y": [0, 1, 1], "ids": ["a", "b", "a"], "annotators": ["Ada", "Ada", "Ben"]}
    answer = asked.client.post(f"{PATH}?final=false", json=body)
    assert answer.status_code in (200, 201), answer.text
    assert (answer.json()["rows"], answer.json()["more_labels"]) == (2, 1)
    answer = asked.client.post(f"{PATH}?final=false", json={**body, "annotators": [1.5, 2, 3]})
    assert answer.json()["error"]["message"].endswith("(annotators=...) must be an array of strings; it is not.")
