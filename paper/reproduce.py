"""The experiments by name, run one after the other and written to files."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from driftpace.errors import MissingExtraError, ParameterError
from driftpace.progress import Progress
from paper.records import Finding
from paper.runs import Over, RunSettings

NAMES = ("regression", "cost", "classification", "income", "selection", "beyond")
"""Section V of the paper in its order, then cross-validation (section IV-B), then what goes beyond it."""


def experiment(name: str) -> Callable[[RunSettings], Finding]:
    """Return what runs the experiment of this name.

    >>> experiment("regres")
    Traceback (most recent call last):
    driftpace.errors.ParameterError: reproduce(name=...) must be one of regression, ...; got 'regres': did you mean 'regression'?
    """
    if name not in NAMES:
        near = get_close_matches(str(name), NAMES, n=1)
        hint = f": did you mean {near[0]!r}?" if near else "."
        raise ParameterError(f"must be one of {', '.join(NAMES)}; got {name!r}{hint}", owner="reproduce", name="name")
    find: Callable[[RunSettings], Finding] = import_module(f"paper.{name}").find
    return find


_READS_PSID = "income"


def reproduce(
    names: str | Sequence[str] | None = None,
    *,
    runs: int = 20,
    seed: int = 0,
    out: str | PathLike[str] = "out/paper",
    workers: int | None = None,
    psid: str | PathLike[str] | None = None,
    psid_columns: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> tuple[Finding, ...]:
    """Run the experiments of these names (None: all), write the findings to the directory ``out``, and return them.

    Each is repeated ``runs`` times from ``seed``; the same two give the same files, byte for byte, on any number of ``workers``
    (None: one for each core). ``psid`` is your own extract of the Panel Study of Income Dynamics for the income experiment and
    ``psid_columns`` the names of its columns, by the parameters of :func:`driftpace.datasets.load_psid_extract`. ``progress``
    shows bars; None for "when stderr is a terminal". :func:`write_findings` says which files there are.

    >>> reproduce("cost", runs=1)
    Traceback (most recent call last):
    driftpace.errors.ParameterError: reproduce(runs=...) must be a whole number of at least 2; got 1.
    """
    wanted = _wanted(names)
    RunSettings(runs=runs, seed=seed, workers=workers)
    columns = dict(psid_columns or {})
    _readable(psid, columns, wanted)
    _writable(Path(out))
    _drawable()
    from paper.report import write_findings

    finds = [experiment(name) for name in wanted]
    found: list[Finding] = []
    with Progress(progress) as bars:
        for name, find in zip(wanted, finds, strict=True):
            asked = RunSettings(
                runs=runs, seed=seed, workers=workers, psid=psid, psid_columns=columns, over=_over(bars, name)
            )
            found.append(find(asked))
        write_findings(found, out, workers=workers, over=_over(bars))
    return tuple(found)


def _over(bars: Progress, name: str = "") -> Over:
    def over(items: Iterable[Any], what: str, total: int) -> Iterator[Any]:
        return bars.over(items, what if what.startswith(name) else f"{name}: {what}", total=total)

    return over


def _wanted(names: str | Sequence[str] | None) -> list[str]:
    """Return the names in the order of the catalogue, each once; ``experiment`` refuses those that it does not know."""
    if names is None:
        return list(NAMES)
    given = [names] if isinstance(names, str) else list(names)
    if not given:
        raise ParameterError(f"must be one or more of {', '.join(NAMES)}; got none.", owner="reproduce", name="names")
    for name in given:
        if name not in NAMES:
            experiment(name)
    return [name for name in NAMES if name in given]


def _readable(psid: str | PathLike[str] | None, columns: dict[str, Any], wanted: Sequence[str]) -> None:
    """Reject an extract that no experiment reads or that cannot be read, before anything runs."""
    if psid is None:
        if columns:
            name = next(iter(columns))
            raise ParameterError(
                f"must come together with psid; got {name!r} alone.",
                owner="reproduce",
                name="psid_columns",
            )
        return
    if _READS_PSID not in wanted:
        raise ParameterError(
            f"is read by {_READS_PSID} alone; got {', '.join(wanted)}.",
            owner="reproduce",
            name="psid",
        )
    from driftpace.datasets import load_psid_extract
    from paper.income.tables import own_extract

    own_extract(RunSettings(psid=psid, psid_columns=columns))
    load_psid_extract(psid, **columns)


def _writable(out: Path) -> None:
    """Reject a directory that cannot be created or written to, before anything runs."""
    for place in (out, out / "figures", out / "data"):
        there = next(each for each in (place, *place.parents, Path(".")) if each.exists())
        if not there.is_dir():
            raise ParameterError(f"must be a directory; {str(there)!r} is a file.", owner="reproduce", name="out")
        if not os.access(there, os.W_OK | os.X_OK):
            raise ParameterError(
                f"must be a writable directory; {str(there)!r} is not.",
                owner="reproduce",
                name="out",
            )


def _drawable() -> None:
    missing = {
        name: extra for name, extra in (("matplotlib", "figures"), ("plotly", "report")) if find_spec(name) is None
    }
    if missing:
        raise MissingExtraError(
            f'reproduce() needs {" and ".join(missing)}: pip install "driftpace[{",".join(missing.values())}]".'
        )
