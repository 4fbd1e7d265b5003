"""Webhook calls of Label Studio: authenticated by a shared secret, and read as a delivery."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftpace.errors import DataError, ParameterError, WrongSecretError
from driftpace.tables.json_format import parse
from driftpace.tables.label_studio import rows_of_export
from driftpace.tables.limits import clip, size

SECRET_HEADER = "X-Driftpace-Secret"
"""The header that holds the shared secret."""
ACTIONS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED", "ANNOTATIONS_DELETED")
"""The events that a webhook is registered for."""
_LARGEST = 16 * 2**20
_SHORTEST_SECRET = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookCall:
    """A webhook call: its event, project and rows, none where an annotation was cancelled, empty or deleted."""

    action: str
    project: int | None
    rows: tuple[dict[str, Any], ...]


def check_secret(secret: str) -> None:
    """Refuse a secret that is too short, or that a header cannot hold."""
    fine = isinstance(secret, str) and secret.isascii() and secret.isprintable() and " " not in secret
    if not fine or len(secret) < _SHORTEST_SECRET:
        raise ParameterError(
            f"the secret of a webhook must be {_SHORTEST_SECRET} or more plain characters; secrets.token_urlsafe() makes one."
        )


def parse_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    target: str | None = None,
    annotator: str | None = None,
) -> WebhookCall:
    """Read a webhook call.

    The secret is compared in constant time, before the body is parsed. An updated annotation delivers its row again, with the
    same id.

    Parameters
    ----------
    body : bytes
        The body of the request.
    headers : mapping of str to str
        Its headers.
    secret : str
        The shared secret.
    target : str, optional
        The labelled column; annotations without it are not a delivery.
    annotator : str, optional
        The column for who labelled a row.

    Raises
    ------
    WrongSecretError
        If the secret is missing or wrong.
    DataError
        If the body is not a call of Label Studio.
    """
    check_secret(secret)
    given = [value for name, value in headers.items() if name.lower() == SECRET_HEADER.lower()]
    if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "replace"), secret.encode()):
        raise WrongSecretError(f"a webhook call must have the shared secret in {SECRET_HEADER}; this one does not.")
    if len(body) > _LARGEST:
        raise DataError(f"a webhook call must be at most {size(_LARGEST)}; it is larger.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise DataError("a webhook call must be JSON in UTF-8; it is not.") from None
    call = parse(text, "a webhook call")
    action = call.get("action") if isinstance(call, dict) else None
    if not isinstance(action, str):
        raise DataError("a webhook call must be an object with an action, as Label Studio sends it; it is not.")
    project = call.get("project")
    number = project.get("id") if isinstance(project, dict) else None
    rows = []
    if action in ACTIONS[:3]:
        rows = rows_of_export(_tasks(call), target=target, annotator=annotator, owner="parse_webhook")
    return WebhookCall(action=clip(action), project=number if type(number) is int else None, rows=tuple(rows))


def _tasks(call: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tasks of a call, each with its annotations."""
    tasks = _all(call.get("task")) + _all(call.get("tasks"))
    annotations = _all(call.get("annotation")) + _all(call.get("annotations"))
    whole = [task for task in tasks if isinstance(task.get("data"), dict)]
    if len(whole) != len(tasks) or not tasks:
        raise DataError("a webhook call must hold the task with its data: enable the payload of the webhook.")
    unique = {str(task.get("id")): task for task in whole}
    return [
        {**task, "annotations": [item for item in annotations if str(item.get("task")) == number]}
        for number, task in unique.items()
    ]


def _all(value: Any) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]
