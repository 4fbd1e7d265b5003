"""MLflow: parameters, the ledger and the model of a campaign in a run.

Needs ``driftpace[mlflow]``.
"""

from driftpace.mlflow.tracking import log_campaign

__all__ = ["log_campaign"]
