"""What Label Studio calls when somebody has labelled a row: believed only with the secret, and read as a delivery."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftpace.errors import DataError, ParameterError, WrongSecretError
from driftpace.tables.json_format import parse
from driftpace.tables.label_studio import rows_of_export
from driftpace.tables.limits import clip, size

SECRET_HEADER = "X-Driftpace-Secret"
"""The header in which the shared secret comes."""
ACTIONS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED", "ANNOTATIONS_DELETED")
"""What a webhook is registered for."""
_LARGEST = 16 * 2**20
_SHORTEST_SECRET = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookCall:
    """What happened, in which project, and the rows it delivers: none where an annotation was cancelled, empty or deleted."""

    action: str
    project: int | None
    rows: tuple[dict[str, Any], ...]


def check_secret(secret: str) -> None:
    """Refuse a secret that can be guessed, or that no header can hold."""
    fine = isinstance(secret, str) and secret.isascii() and secret.isprintable() and " " not in secret
    if not fine or len(secret) < _SHORTEST_SECRET:
        raise ParameterError(
            f"the secret of a webhook must be {_SHORTEST_SECRET} or more plain characters; secrets.token_urlsafe() makes one."
        )


def parse_webhook(body: bytes, headers: Mapping[str, str], secret: str, *, target: str | None = None) -> WebhookCall:
    """Return what a webhook call says; :class:`WrongSecretError` where it does not bring the secret.

    The secret is compared in constant time, and before anything else is looked at. An annotation that was updated delivers its
    row again, under the same id.
    """
    check_secret(secret)
    given = [value for name, value in headers.items() if name.lower() == SECRET_HEADER.lower()]
    if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "replace"), secret.encode()):
        raise WrongSecretError(f"a webhook call must bring the shared secret in {SECRET_HEADER}; this one does not.")
    if len(body) > _LARGEST:
        raise DataError(f"a webhook call must be at most {size(_LARGEST)}; it is larger.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise DataError("a webhook call must be JSON in UTF-8; it is not.") from None
    said = parse(text, "a webhook call")
    action = said.get("action") if isinstance(said, dict) else None
    if not isinstance(action, str):
        raise DataError(
            "a webhook call must be an object with an action, as Label Studio sends it; it is something else."
        )
    project = said.get("project")
    number = project.get("id") if isinstance(project, dict) else None
    rows = rows_of_export(_tasks(said), target=target, owner="parse_webhook") if action in ACTIONS[:3] else []
    return WebhookCall(action=clip(action), project=number if type(number) is int else None, rows=tuple(rows))


def _tasks(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tasks of a call, each with the annotations that the call brings for it."""
    tasks = _all(said.get("task")) + _all(said.get("tasks"))
    annotations = _all(said.get("annotation")) + _all(said.get("annotations"))
    whole = [task for task in tasks if isinstance(task.get("data"), dict)]
    if len(whole) != len(tasks) or not tasks:
        raise DataError("a webhook call must bring the task with its data: let the webhook send its payload.")
    unique = {str(task.get("id")): task for task in whole}
    return [
        {**task, "annotations": [item for item in annotations if str(item.get("task")) == number]}
        for number, task in unique.items()
    ]


def _all(value: Any) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]
