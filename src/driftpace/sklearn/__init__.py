"""Estimators of scikit-learn: a model that follows drifting data, and says how many labels the next period needs.

Needs ``driftpace[sklearn]``.
"""

from importlib.util import find_spec

from driftpace.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError('driftpace.sklearn needs scikit-learn: pip install "driftpace[sklearn]".')

from driftpace.sklearn.classifier import DriftpaceClassifier
from driftpace.sklearn.periods import PeriodSplit
from driftpace.sklearn.regressor import DriftpaceRegressor

__all__ = ["DriftpaceClassifier", "DriftpaceRegressor", "PeriodSplit"]
