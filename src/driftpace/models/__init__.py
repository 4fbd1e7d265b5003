"""Pre-trained models: adapters, the head on top of one, and what training it again would gain."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.models.adapter import ModelAdapter, log_odds
    from driftpace.models.artefacts import adapter_of_artefact, artefact_of
    from driftpace.models.catboost import CatBoostAdapter
    from driftpace.models.corrected import CorrectedAdapter
    from driftpace.models.features import Head, HeadFeatures
    from driftpace.models.files import read_model
    from driftpace.models.function import FunctionAdapter
    from driftpace.models.lightgbm import LightGBMAdapter
    from driftpace.models.onnx import OnnxAdapter
    from driftpace.models.registry import adapt, register_adapter
    from driftpace.models.retraining import (
        Gain,
        ScoredRows,
        Training,
        gain_of_training,
        losses_of,
        smooth_correction,
        train,
    )
    from driftpace.models.sklearn import SklearnAdapter
    from driftpace.models.smooth import SmoothCorrection
    from driftpace.models.torch import TorchAdapter
    from driftpace.models.xgboost import XGBoostAdapter

__all__ = [
    "CatBoostAdapter",
    "CorrectedAdapter",
    "FunctionAdapter",
    "Gain",
    "Head",
    "HeadFeatures",
    "LightGBMAdapter",
    "ModelAdapter",
    "OnnxAdapter",
    "ScoredRows",
    "SklearnAdapter",
    "SmoothCorrection",
    "TorchAdapter",
    "Training",
    "XGBoostAdapter",
    "adapt",
    "adapter_of_artefact",
    "artefact_of",
    "gain_of_training",
    "log_odds",
    "losses_of",
    "read_model",
    "register_adapter",
    "smooth_correction",
    "train",
]

if not TYPE_CHECKING:  # a type checker knows the names above and must reject any other
    __getattr__ = lazy(
        __name__,
        {
            "CatBoostAdapter": "catboost",
            "LightGBMAdapter": "lightgbm",
            "OnnxAdapter": "onnx",
            "SklearnAdapter": "sklearn",
            "TorchAdapter": "torch",
            "XGBoostAdapter": "xgboost",
            "read_model": "files",
            "CorrectedAdapter": "corrected",
            "FunctionAdapter": "function",
            "Gain": "retraining",
            "Head": "features",
            "HeadFeatures": "features",
            "ModelAdapter": "adapter",
            "ScoredRows": "retraining",
            "SmoothCorrection": "smooth",
            "Training": "retraining",
            "adapt": "registry",
            "adapter_of_artefact": "artefacts",
            "artefact_of": "artefacts",
            "gain_of_training": "retraining",
            "log_odds": "adapter",
            "losses_of": "retraining",
            "register_adapter": "registry",
            "smooth_correction": "retraining",
            "train": "retraining",
        },
    )
