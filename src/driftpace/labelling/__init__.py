"""Labelling tools: an order becomes tasks in Label Studio, and what people label there becomes a delivery.

Over plain REST, with httpx; nothing of Label Studio is imported. See docs/labelling.md.
"""

from driftpace.errors import LabellingError, UnavailableError, WrongSecretError
from driftpace.labelling.label_studio import Imported, Labelled, LabelStudio
from driftpace.labelling.tasks import labelling_config, to_tasks
from driftpace.labelling.webhook import SECRET_HEADER, WebhookCall, parse_webhook
from driftpace.tables.label_studio import ROW_FOR, ROW_ID
from driftpace.tables.label_studio import rows_of_export as from_export

__all__ = [
    "ROW_FOR",
    "ROW_ID",
    "SECRET_HEADER",
    "Imported",
    "LabelStudio",
    "Labelled",
    "LabellingError",
    "UnavailableError",
    "WebhookCall",
    "WrongSecretError",
    "from_export",
    "labelling_config",
    "parse_webhook",
    "to_tasks",
]
