"""A client of Label Studio: projects, tasks, annotations and webhooks."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import sleep
from typing import Any, Self

from driftpace import validation
from driftpace.errors import LabellingError, ParameterError, UnavailableError
from driftpace.labelling.rest_client import RestClient
from driftpace.labelling.webhook import ACTIONS, SECRET_HEADER, check_secret
from driftpace.tables.label_studio import ROW_FOR, ROW_ID, AnnotationPolicy, rows_of_export
from driftpace.tables.limits import clip

_MOST_PAGES = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportResult:
    """Result of importing tasks: how many were created, and how many existed ``already``."""

    created: int
    already: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledRows:
    """Labelled tasks, one row each with its id in ``driftpace_id``.

    ``until`` is when the latest of the tasks changed, as the server writes it: the ``since`` of the next poll. A task may be
    returned again, with the same id.
    """

    rows: tuple[dict[str, Any], ...]
    until: str | None


class LabelStudio:
    """Client of a Label Studio server.

    Idempotent requests are repeated with growing pauses while the server is busy or does not respond. Failures raise
    :class:`~driftpace.labelling.LabellingError`. The token never appears in a message, log or repr.

    Parameters
    ----------
    url : str
        Address of the server, such as ``http://127.0.0.1:8080``.
    token : str
        Legacy or personal access token of an account.
    timeout : float
        Seconds to wait for a response.
    retries : int
        How often an idempotent request is repeated.
    transport : httpx transport, optional
        For tests.
    pause : callable
        Sleeps for a number of seconds between attempts.

    Examples
    --------
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
        self._client = RestClient(url, token, timeout=timeout, retries=retries, transport=transport, pause=pause)
        self._retries = retries

    def __repr__(self) -> str:
        return f"LabelStudio({self._client.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def create_project(self, title: str, config: str) -> int:
        """Create a project with a labelling interface (:func:`~driftpace.labelling.labelling_config`); return its number."""
        if not isinstance(title, str) or not 3 <= len(title) <= 50 or not title.isprintable():
            raise ParameterError(
                f"must be a text of 3 to 50 characters; got {clip(repr(title))}.",
                owner="create_project",
                name="title",
            )
        made = self._client.post("/api/projects/", {"title": title, "label_config": config})
        return _number(made, "id", "a project")

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]], *, batch: int = 250) -> ImportResult:
        """Create the tasks that the project does not have yet, by driftpace id and period, in batches.

        After a failure, the project is queried for what arrived before the rest is sent again.
        """
        validation.count("import_tasks", least=1, project=project, batch=batch)
        wanted = {_task_id(task): task for task in tasks}
        if len(wanted) != len(tasks):
            raise ParameterError(
                "must be tasks of different driftpace ids; got one twice.",
                owner="import_tasks",
                name="tasks",
            )
        existing = self.task_ids(project)
        missing = [row_id for row_id in wanted if row_id not in existing]
        already = len(wanted) - len(missing)
        attempt = 0
        while missing:
            some = missing[:batch]
            try:
                self._client.post(f"/api/projects/{project}/import", [dict(wanted[row_id]) for row_id in some])
                missing = missing[batch:]
            except UnavailableError:
                if attempt == self._retries:
                    raise
                self._client.wait(attempt)
                attempt += 1
                existing = self.task_ids(project)
                missing = [row_id for row_id in missing if row_id not in existing]
        return ImportResult(created=len(wanted) - already, already=already)

    def task_ids(self, project: int) -> set[tuple[str, str]]:
        """Return (campaign and period, driftpace id) of all tasks of a project; the first is empty where it is not recorded."""
        found = (task.get("data") for task in self._pages(project, {}))
        return {_key(data) for data in found if isinstance(data, dict) and data.get(ROW_ID)}

    def annotated_tasks(self, project: int, *, since: str | datetime | None = None) -> list[dict[str, Any]]:
        """Return the labelled tasks with their annotations; with ``since``, only those changed since then."""
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
        annotator: str | None = None,
    ) -> LabelledRows:
        """Return the labelled tasks as rows; the other parameters are those of :func:`~driftpace.labelling.from_export`."""
        tasks = self.annotated_tasks(project, since=since)
        rows = rows_of_export(tasks, target=target, several=several, annotator=annotator, owner="labelled")
        moments = [task["updated_at"] for task in tasks if isinstance(task.get("updated_at"), str)]
        until = max(moments, default=None if since is None else _moment(since))
        return LabelledRows(rows=tuple(rows), until=until)

    def register_webhook(self, project: int, url: str, secret: str) -> int:
        """Register a webhook that calls ``url`` with the shared secret when an annotation is created or changes; return its number.

        An existing webhook for the same address is updated.
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
        hooks = self._client.get("/api/webhooks/", {"project": project})
        for hook in hooks if isinstance(hooks, list) else []:
            if isinstance(hook, dict) and hook.get("url") == url and hook.get("project") == project:
                number = _number(hook, "id", "a webhook")
                self._client.patch(f"/api/webhooks/{number}/", body)
                return number
        return _number(self._client.post("/api/webhooks/", body), "id", "a webhook")

    def _pages(self, project: int, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the tasks of a project page by page, each once."""
        validation.count("LabelStudio", least=1, project=project)
        seen: set[Any] = set()
        for page in range(1, _MOST_PAGES):
            answer = self._client.get("/api/tasks", {"project": project, "page": page, "page_size": 100, **query})
            if not isinstance(answer, dict) or not isinstance(answer.get("tasks"), list):
                raise LabellingError(f"{self!r} must answer with a list of tasks; it did not.")
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
            f"must be tasks with {ROW_ID} in their data, as made by to_tasks.",
            owner="import_tasks",
            name="tasks",
        )
    return _key(data)


def _moment(since: str | datetime) -> str:
    """Return a time as Label Studio compares it: in UTC, to the microsecond."""
    try:
        moment = datetime.fromisoformat(since) if isinstance(since, str) else since
    except ValueError:
        raise ParameterError(
            f"must be a time in ISO 8601; got {clip(str(since))!r}.",
            owner="LabelStudio",
            name="since",
        ) from None
    if moment.tzinfo is None:
        raise ParameterError(f"must have a time zone; got {moment.isoformat()}.", owner="LabelStudio", name="since")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
