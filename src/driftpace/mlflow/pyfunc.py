"""What MLflow calls to read the model of a campaign: ``mlflow.pyfunc.load_model`` finds it by the name of this module."""

from typing import Any

from driftpace.campaign import CampaignModel


class CampaignPredictor:
    """The model of a campaign as MLflow serves it."""

    def __init__(self, model: CampaignModel) -> None:
        self._model = model

    def predict(self, model_input: Any, params: Any = None) -> Any:  # noqa: ARG002  MLflow passes both
        """Return predictions of the rows of a frame, with probabilities where there are any, as ``driftpace predict`` does."""
        import pandas as pd

        predictions = self._model.predict_table(model_input)
        return pd.DataFrame(predictions.columns(self._model.definition.target or "target"))

    def get_raw_model(self) -> CampaignModel:
        """Return the model itself, for ``unwrap_python_model`` and the like."""
        return self._model


def _load_pyfunc(path: str) -> CampaignPredictor:
    """Return the model that :func:`driftpace.mlflow.log_campaign` logged."""
    return CampaignPredictor(CampaignModel.load(path))
