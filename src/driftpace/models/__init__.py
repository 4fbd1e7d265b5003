"""Models that somebody else trained: adapters, the head on top of one, and what training it again would gain."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.models.adapter import ModelAdapter, log_odds
    from driftpace.models.artefacts import adapter_of_artefact, artefact_of
    from driftpace.models.corrected import CorrectedAdapter
    from driftpace.models.features import Head, HeadFeatures
    from driftpace.models.function import FunctionAdapter
    from driftpace.models.registry import adapt, register_adapter
    from driftpace.models.retraining import Gain, ScoredRows, gain_of_training, losses_of, train

__all__ = [
    "CorrectedAdapter",
    "FunctionAdapter",
    "Gain",
    "Head",
    "HeadFeatures",
    "ModelAdapter",
    "ScoredRows",
    "adapt",
    "adapter_of_artefact",
    "artefact_of",
    "gain_of_training",
    "log_odds",
    "losses_of",
    "register_adapter",
    "train",
]

if not TYPE_CHECKING:  # a type checker knows the names above and must reject any other
    __getattr__ = lazy(
        __name__,
        {
            "CorrectedAdapter": "corrected",
            "FunctionAdapter": "function",
            "Gain": "retraining",
            "Head": "features",
            "HeadFeatures": "features",
            "ModelAdapter": "adapter",
            "ScoredRows": "retraining",
            "adapt": "registry",
            "adapter_of_artefact": "artefacts",
            "artefact_of": "artefacts",
            "gain_of_training": "retraining",
            "log_odds": "adapter",
            "losses_of": "retraining",
            "register_adapter": "registry",
            "train": "retraining",
        },
    )
