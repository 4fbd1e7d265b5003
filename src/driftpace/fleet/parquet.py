"""A fleet in a folder: one file with what all segments share, and Parquet files with a thousand segments each."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from driftpace.errors import MissingExtraError, ParameterError, StateFileError
from driftpace.fleet.saving import FleetState, header_to_body, segments_to_body
from driftpace.fleet.segments import Segment
from driftpace.storage import read_state, write_state
from driftpace.storage.atomic_file import atomic_file

HEADER = "fleet.json"
PARTITION = 1_000
"""The segments of a file."""


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a fleet at this path is a folder of Parquet files."""
    return Path(path).is_dir() or Path(path).suffix == ".parquet"


def write_folder(path: str | os.PathLike[str], state: FleetState) -> None:
    """Write a fleet to a folder; until its header is replaced, which comes last, the folder holds the fleet as it was before.

    Files are named after their content, so that those which did not change are not written again.
    """
    folder = Path(path)
    if folder.exists() and not (folder / HEADER).exists() and any(folder.iterdir()):
        raise ParameterError(
            f"must be a new or empty folder, or that of a fleet; got {os.fspath(path)!r}, which has other files.",
            owner="Fleet.save",
            name="path",
        )
    if not folder.resolve().parent.is_dir():
        raise ParameterError(
            f"must be in an existing folder; got {os.fspath(path)!r}.", owner="Fleet.save", name="path"
        )
    folder.mkdir(exist_ok=True)
    parts = []
    for number, segments in enumerate(_partitions(state.segments)):
        content = _to_parquet(segments)
        digest = hashlib.sha256(content).hexdigest()
        file = folder / f"segments-{number:05d}-{digest[:16]}.parquet"
        if not file.exists():
            with atomic_file(file, owner="Fleet.save") as target:
                target.write(content)
        parts.append({"file": file.name, "sha256": digest})
    write_state(folder / HEADER, header_to_body(state) | {"parts": parts})
    for file in folder.glob("segments-*.parquet"):
        if file.name not in {part["file"] for part in parts}:
            file.unlink()


def read_folder(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fleet of a folder as JSON values, or raise StateFileError."""
    folder = Path(path)
    if not (folder / HEADER).exists():
        raise StateFileError(f"{os.fspath(path)!r} has no {HEADER}: it is not the folder of a fleet.")
    body = read_state(folder / HEADER)
    if not isinstance(body, dict) or not isinstance(body.get("parts"), list):
        raise StateFileError(f"{os.fspath(folder / HEADER)!r} does not have the shape this version reads.")
    segments: dict[str, Any] = {}
    for part in body["parts"]:
        segments |= _from_parquet(folder / str(part["file"]), str(part["sha256"]))
    return body | {"segments": segments}


def _partitions(segments: Mapping[str, Segment]) -> Iterator[dict[str, Segment]]:
    waiting = iter(segments.items())
    while part := dict(islice(waiting, PARTITION)):
        yield part


def _to_parquet(segments: Mapping[str, Segment]) -> bytes:
    """Return segments as a Parquet file, with the numbers of their last periods beside their states."""
    pa, parquet = _arrow()
    last = [segment.reports[-1] if segment.reports else None for segment in segments.values()]
    table = pa.table(
        {
            "segment": list(segments),
            "period": pa.array([segment.first + len(segment.reports) for segment in segments.values()], pa.int64()),
            "samples": pa.array([None if report is None else report.samples for report in last], pa.int64()),
            "risk": pa.array([None if report is None else report.risk_bound for report in last], pa.float64()),
            "epsilon": pa.array([None if report is None else report.epsilon for report in last], pa.float64()),
            "outcome": pa.array([None if report is None else report.outcome.value for report in last], pa.string()),
            "state": pa.array(
                [json.dumps(body, allow_nan=False).encode() for body in segments_to_body(segments).values()],
                pa.binary(),
            ),
        }
    )
    buffer = BytesIO()
    parquet.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _from_parquet(file: Path, digest: str) -> dict[str, Any]:
    _, parquet = _arrow()
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise StateFileError(f"{os.fspath(file)!r} is missing from the folder of the fleet.") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise StateFileError(f"{os.fspath(file)!r} was edited or damaged: its checksum does not match.")
    table = parquet.read_table(BytesIO(content), columns=["segment", "state"])
    names, states = table.column("segment").to_pylist(), table.column("state").to_pylist()
    return {name: json.loads(state) for name, state in zip(names, states, strict=True)}


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError('a fleet in Parquet files needs pyarrow: pip install "driftpace[tables]".') from error
    return pa, parquet
