"""A Label Studio server, over its plain REST interface: projects, tasks, what was labelled, and webhooks."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import sleep
from typing import Any, Self

from driftpace import validation
from driftpace.errors import LabellingError, ParameterError, UnavailableError
from driftpace.labelling.asking import Door
from driftpace.labelling.webhook import ACTIONS, SECRET_HEADER, check_secret
from driftpace.tables.label_studio import ROW_FOR, ROW_ID, AnnotationPolicy, rows_of_export
from driftpace.tables.limits import clip

_MOST_PAGES = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What became of tasks: how many are new in the project, and how many were there already."""

    created: int
    already: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """What people have labelled: a row for each task, its id in ``driftpace_id``, and up to when that is.

    ``until`` is the moment the newest of the tasks changed, as the server writes it; the next poll begins there. A task may
    come again: its id tells.
    """

    rows: tuple[dict[str, Any], ...]
    until: str | None


class LabelStudio:
    """A client of one server, under the token of one account: a legacy token, or a personal access token.

    Requests that change nothing are repeated, up to ``retries`` times with growing pauses, while the server is busy or silent.
    Whatever fails raises :class:`~driftpace.labelling.LabellingError` in one sentence; the token is in no message, log or repr.

    >>> LabelStudio("http://127.0.0.1:8080/", "not shown")
    LabelStudio('http://127.0.0.1:8080')
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        transport: Any = None,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        self._door = Door(url, token, timeout=timeout, retries=retries, transport=transport, pause=pause)
        self._retries = retries

    def __repr__(self) -> str:
        return f"LabelStudio({self._door.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of connections."""
        self._door.close()

    def create_project(self, title: str, config: str) -> int:
        """Return the number of a fresh project with this screen (:func:`~driftpace.labelling.labelling_config` makes one)."""
        if not isinstance(title, str) or not 3 <= len(title) <= 50 or not title.isprintable():
            raise ParameterError(
                f"must be a text of 3 to 50 characters; got {clip(repr(title))}.",
                owner="create_project",
                name="title",
            )
        made = self._door.post("/api/projects/", {"title": title, "label_config": config})
        return _number(made, "id", "a project")

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]], *, batch: int = 250) -> Imported:
        """Create tasks, those that the project does not have yet by their driftpace id and period, some at a time.

        Where the server breaks off in the middle, what arrived is looked up before the rest is sent again.
        """
        validation.count("import_tasks", least=1, project=project, batch=batch)
        wanted = {_task_id(task): task for task in tasks}
        if len(wanted) != len(tasks):
            raise ParameterError(
                "must be tasks of different driftpace ids; got one twice.",
                owner="import_tasks",
                name="tasks",
            )
        there = self.task_ids(project)
        missing = [row_id for row_id in wanted if row_id not in there]
        already = len(wanted) - len(missing)
        attempt = 0
        while missing:
            some = missing[:batch]
            try:
                self._door.post(f"/api/projects/{project}/import", [dict(wanted[row_id]) for row_id in some])
                missing = missing[batch:]
            except UnavailableError:
                if attempt == self._retries:
                    raise
                self._door.rest(attempt)
                attempt += 1
                there = self.task_ids(project)
                missing = [row_id for row_id in missing if row_id not in there]
        return Imported(created=len(wanted) - already, already=already)

    def task_ids(self, project: int) -> set[tuple[str, str]]:
        """Return for all tasks in a project what they were made for (empty where that is not said), and their driftpace id."""
        found = (task.get("data") for task in self._pages(project, {}))
        return {_key(data) for data in found if isinstance(data, dict) and data.get(ROW_ID)}

    def annotated_tasks(self, project: int, *, since: str | datetime | None = None) -> list[dict[str, Any]]:
        """Return the tasks that somebody labelled, with their annotations; only those changed ``since`` a moment where given."""
        items = [{"filter": "filter:tasks:total_annotations", "operator": "greater", "type": "Number", "value": 0}]
        if since is not None:
            items.append(
                {
                    "filter": "filter:tasks:updated_at",
                    "operator": "greater_or_equal",
                    "type": "Datetime",
                    "value": _moment(since),
                }
            )
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": ["tasks:id"]}
        return list(self._pages(project, {"fields": "all", "query": json.dumps(query)}))

    def labelled(
        self,
        project: int,
        *,
        target: str | None = None,
        since: str | datetime | None = None,
        several: AnnotationPolicy = "latest",
    ) -> Labelled:
        """Return what people have labelled, as rows; ``target`` and ``several`` as :func:`~driftpace.labelling.from_export`."""
        tasks = self.annotated_tasks(project, since=since)
        rows = rows_of_export(tasks, target=target, several=several, owner="labelled")
        moments = [task["updated_at"] for task in tasks if isinstance(task.get("updated_at"), str)]
        until = max(moments, default=None if since is None else _moment(since))
        return Labelled(rows=tuple(rows), until=until)

    def register_webhook(self, project: int, url: str, secret: str) -> int:
        """Have the server call ``url`` whenever an annotation comes or changes, with the shared secret; return its number.

        Registered again for the same address, the webhook that is there is changed.
        """
        validation.count("register_webhook", least=1, project=project)
        check_secret(secret)
        body = {
            "project": project,
            "url": url,
            "send_payload": True,
            "send_for_all_actions": False,
            "headers": {SECRET_HEADER: secret},
            "actions": list(ACTIONS),
            "is_active": True,
        }
        hooks = self._door.get("/api/webhooks/", {"project": project})
        for hook in hooks if isinstance(hooks, list) else []:
            if isinstance(hook, dict) and hook.get("url") == url and hook.get("project") == project:
                number = _number(hook, "id", "a webhook")
                self._door.patch(f"/api/webhooks/{number}/", body)
                return number
        return _number(self._door.post("/api/webhooks/", body), "id", "a webhook")

    def _pages(self, project: int, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Return the tasks of a project page after page, each once, until as many came as the server says there are."""
        validation.count("LabelStudio", least=1, project=project)
        seen: set[Any] = set()
        for page in range(1, _MOST_PAGES):
            answer = self._door.get("/api/tasks", {"project": project, "page": page, "page_size": 100, **query})
            if not isinstance(answer, dict) or not isinstance(answer.get("tasks"), list):
                raise LabellingError(f"{self!r} must answer with a list of tasks; it answered something else.")
            fresh = [task for task in answer["tasks"] if isinstance(task, dict) and task.get("id") not in seen]
            seen |= {task.get("id") for task in fresh}
            yield from fresh
            if len(answer["tasks"]) == 0 or not fresh or len(seen) >= _number(answer, "total", "a list of tasks"):
                return


def _number(answer: Any, name: str, what: str) -> int:
    found = answer.get(name) if isinstance(answer, dict) else None
    if type(found) is not int:
        raise LabellingError(f"Label Studio must answer with the {name} of {what}; it did not.")
    return found


def _key(data: Mapping[str, Any]) -> tuple[str, str]:
    return str(data.get(ROW_FOR) or ""), str(data[ROW_ID])


def _task_id(task: Mapping[str, Any]) -> tuple[str, str]:
    data = task.get("data")
    if not isinstance(data, Mapping) or not data.get(ROW_ID):
        raise ParameterError(
            f"must be tasks with {ROW_ID} in their data, as to_tasks makes them.",
            owner="import_tasks",
            name="tasks",
        )
    return _key(data)


def _moment(since: str | datetime) -> str:
    """Return a moment as Label Studio compares it: in UTC, to the microsecond."""
    try:
        moment = datetime.fromisoformat(since) if isinstance(since, str) else since
    except ValueError:
        raise ParameterError(
            f"must be a moment in ISO 8601; got {clip(str(since))!r}.",
            owner="LabelStudio",
            name="since",
        ) from None
    if moment.tzinfo is None:
        raise ParameterError(f"must have a time zone; got {moment.isoformat()}.", owner="LabelStudio", name="since")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
