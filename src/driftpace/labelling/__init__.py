"""Label Studio: an order becomes tasks, and annotations become a delivery.

Over its REST interface with httpx; nothing of Label Studio is imported. See docs/labelling.md.
"""

from driftpace.errors import LabellingError, UnavailableError, WrongSecretError
from driftpace.labelling.label_studio import ImportResult, LabelledRows, LabelStudio
from driftpace.labelling.tasks import labelling_config, to_tasks
from driftpace.labelling.webhook import SECRET_HEADER, WebhookCall, parse_webhook
from driftpace.tables.label_studio import ROW_FOR, ROW_ID
from driftpace.tables.label_studio import rows_of_export as from_export

__all__ = [
    "ROW_FOR",
    "ROW_ID",
    "SECRET_HEADER",
    "ImportResult",
    "LabelStudio",
    "LabelledRows",
    "LabellingError",
    "UnavailableError",
    "WebhookCall",
    "WrongSecretError",
    "from_export",
    "labelling_config",
    "parse_webhook",
    "to_tasks",
]
