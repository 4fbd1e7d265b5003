"""A regressor that follows drifting data."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_array, column_or_1d

from driftpace.sklearn.base import DriftpaceEstimator
from driftpace.typing import FloatArray


class DriftpaceRegressor(RegressorMixin, DriftpaceEstimator):
    """Follow numbers whose relation to the columns drifts, and say how many labels the next period needs.

    Parameters
    ----------
    estimator : estimator, optional
        A regressor or pipeline. It is trained on the first period; a linear head on top of it follows the drift from then on, and
        it is trained again on all rows seen when that would pay (``retrain``). A ``FrozenEstimator`` is taken as it is and never
        trained. By default a linear model is tracked.
    epsilon : float, optional
        The largest excess loss that is acceptable, in units of the loss.
    tolerance : float, optional
        The target as a share of the best loss, which is estimated; 0.05 where neither is given.
    loss : str or Loss, optional
        Such as "squared" (the default), "huber", "poisson", "gamma", "tweedie" or "quantile(0.9)".
    l2 : float or sequence of float, optional
        The penalty (l2/2)||w||^2 of the linear model, or several to choose from in every period; by default that of the loss.
    fit_intercept : bool, default True
        Whether the linear model has an intercept.
    missing : {"impute", "refuse"}, default "impute"
        What the linear model does with missing cells.
    orders : int, optional
        In how many orders the labels of a period are bought. With 1, the default, ``samples_needed_`` is for the whole period; with
        None they are ordered in batches, of which it is the next one (:meth:`tell`), and fewer are often enough.
    confidence : float, optional
        Meet the target in each period with this probability instead of on average.
    season : int or str, optional
        After how many periods the drift may repeat itself.
    audit : float, optional
        The share of each order that is held out for an audit.
    head : Head, optional
        What the head on an estimator sees.
    base_periods : int, default 1
        How many of the first periods of ``fit`` train the estimator; the head follows the others.
    retrain : bool, default True
        Whether an estimator is trained again when the alarm says that this would pay.
    random_state : int, RandomState or None, default None
        Seeds the tracker. Estimators have their own.

    Attributes
    ----------
    samples_needed_ : int
        How many (more) labelled rows the next period needs.
    request_ : Request
        The same with the reason, an interval and the assumptions behind it.
    tracker_ : Tracker or ModelTracker
        The tracker. It is the same object after :meth:`partial_fit`.
    reports_ : list of StepReport
        The report of each closed period.
    periods_ : list
        The periods seen.
    retrained_ : list
        The periods after which the estimator was trained again.
    estimator_ : estimator
        The estimator as it was last trained.
    coef_ : ndarray
        The coefficients of the linear model.
    intercept_ : float
        Its intercept.
    coef_names_ : tuple of str
        The names of the coefficients.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        Their names, where rows were a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from driftpace.sklearn import DriftpaceRegressor
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(6), 60)
    >>> X = rng.standard_normal((360, 2))
    >>> y = X[:, 0] + 0.2 * month * X[:, 1] + 0.1 * rng.standard_normal(360)
    >>> model = DriftpaceRegressor(epsilon=0.01, random_state=0).fit(X, y, period=month)
    >>> model.coef_.round(1).tolist(), len(model.reports_), 0 < model.samples_needed_ < 60
    ([1.0, 1.0], 6, True)
    """

    def _task(self) -> tuple[str, dict[str, int]]:
        return "regression", {}

    def _targets(self, y: Any, *, reset: bool) -> FloatArray:  # noqa: ARG002
        targets = column_or_1d(y, dtype=np.float64, warn=True)
        return check_array(targets, ensure_2d=False, dtype=np.float64, input_name="y")

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, period: Any = None) -> Self:
        """Go on from what is known: one more period, or several where ``period`` has several values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            The labelled rows of the period, however many.
        y : array-like of shape (rows,)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            What each row counts for.
        period : array-like of shape (rows,) or a single value, optional
            The period, later than those seen. By default the next one.

        Returns
        -------
        self
        """
        return self._go_on(X, y, sample_weight, period)

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions of the model of the last period.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            Rows.

        Returns
        -------
        ndarray of shape (rows,)
        """
        return np.asarray(self._of_tracker("predict", X))

    @property
    def coef_(self) -> FloatArray:
        """The coefficients of the linear model, of shape (columns,)."""
        return np.asarray(self._linear_tracker("coef_").coef)

    @property
    def intercept_(self) -> float:
        """The intercept of the linear model."""
        return float(self._linear_tracker("intercept_").intercept)
