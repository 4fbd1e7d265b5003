"""A progress bar with the remaining time on a terminal, and nothing elsewhere.

Long work says how far it is by :func:`over`, and is shown by the bar that is open around it.
"""

import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar, Token
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self, TypeVar

from driftpace.errors import MissingExtraError

Item = TypeVar("Item")


class Progress:
    """Show the progress of loops; with ``show`` None, when stderr is a terminal and rich is installed.

    While it is open, it also shows the long work of trackers: ``with Progress(): tracker.tell()``.

    >>> with Progress(False) as progress:
    ...     list(progress.over(range(3), "runs", total=3))
    [0, 1, 2]
    """

    def __init__(self, show: bool | None = None) -> None:
        installed = find_spec("rich") is not None
        if show and not installed:
            raise MissingExtraError('progress=True needs rich: pip install "driftpace[cli]".')
        self._before: Token[Progress | None]
        self._bar: Any = _bar() if (installed and sys.stderr.isatty() if show is None else show) else None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        self._before = _open.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open.reset(self._before)
        if self._bar is not None:
            self._bar.stop()

    def over(self, items: Iterable[Item], what: str, *, total: int) -> Iterator[Item]:
        """Yield the items and count them."""
        if self._bar is None:
            yield from items
            return
        task = self._bar.add_task(what, total=total)
        for item in items:
            yield item
            self._bar.advance(task)

    def searching(self, what: str) -> None:
        """Show or update a task of unknown length."""
        if self._bar is None:
            return
        known = [task.id for task in self._bar.tasks if task.total is None]
        if known:
            self._bar.update(known[0], description=what)
        else:
            self._bar.add_task(what, total=None)


_open: "ContextVar[Progress | None]" = ContextVar("progress", default=None)


def over(items: Iterable[Item], what: str, *, total: int) -> Iterator[Item]:
    """Yield the items, and count them on the bar that is open; without one, only yield them.

    >>> list(over("ab", "letters", total=2))
    ['a', 'b']
    """
    bar = _open.get()
    return iter(items) if bar is None else bar.over(items, what, total=total)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=sys.stderr.isatty(),  # elsewhere the last state stays as a line
    )
