"""A classifier that follows drifting data."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from driftpace.errors import DataError
from driftpace.losses import SmoothedHinge
from driftpace.sklearn.base import DriftpaceEstimator
from driftpace.typing import FloatArray


def _has_probabilities(classifier: "DriftpaceClassifier") -> bool:
    loss = classifier.loss
    if classifier.estimator is None and (
        isinstance(loss, SmoothedHinge) or (isinstance(loss, str) and loss.startswith("hinge"))
    ):
        raise AttributeError("predict_proba needs a loss with probabilities, such as logistic; got hinge.")
    return True


class DriftpaceClassifier(ClassifierMixin, DriftpaceEstimator):
    """Follow classes whose relation to the columns drifts, and say how many labels the next period needs.

    Two classes are told apart by logistic regression, several by multinomial logistic regression.

    Parameters
    ----------
    estimator : estimator, optional
        A classifier or pipeline. It is trained on the first period, or on as many as show every class; a linear head on top of
        it follows the drift from then on, and it is trained again on all rows seen when that would pay (``retrain``). By default a
        linear model is tracked. A ``FrozenEstimator`` is taken as it is and never trained again.
    epsilon : float, optional
        The largest excess loss that is acceptable, in units of the loss.
    tolerance : float, optional
        The target as a share of the best loss, which is estimated; 0.05 where neither is given.
    loss : str or Loss, optional
        "logistic" (the default) or "hinge" for two classes, "softmax" for several.
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
    classes_ : ndarray
        The labels of the classes.
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
    coef_ : ndarray of shape (1, columns) or (classes, columns)
        The coefficients of the linear model.
    intercept_ : ndarray of shape (1,) or (classes,)
        Its intercepts.
    coef_names_ : tuple of str
        The names of the coefficients.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        Their names, where rows were a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from driftpace.sklearn import DriftpaceClassifier
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(6), 200)
    >>> X = rng.standard_normal((1200, 2))
    >>> y = np.where(X[:, 0] + rng.logistic(size=1200) > 0.3 * month, "yes", "no")
    >>> model = DriftpaceClassifier(epsilon=0.02, random_state=0).fit(X, y, period=month)
    >>> model.classes_.tolist(), model.predict_proba(X[:3]).shape, model.coef_.shape
    (['no', 'yes'], (3, 2), (1, 2))
    """

    classes_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, period: Any = None) -> Self:
        """Follow the rows from the first period to the last. Whatever was known before is forgotten.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            Rows of all periods, in any order.
        y : array-like of shape (rows,)
            Labels of classes.
        sample_weight : array-like of shape (rows,), optional
            What each row counts for.
        period : array-like of shape (rows,), optional
            The period of each row: numbers, dates or texts, in the order of their values. By default all rows are of one period.

        Returns
        -------
        self
        """
        self._given: Any = None
        return super().fit(X, y, sample_weight, period)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, period: Any = None) -> Self:
        """Go on from what is known: one more period, or several where ``period`` has several values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            The labelled rows of the period, however many.
        y : array-like of shape (rows,)
            Labels of classes.
        classes : array-like, optional
            All classes that may appear, in the first call; by default those of its ``y``.
        sample_weight : array-like of shape (rows,), optional
            What each row counts for.
        period : array-like of shape (rows,) or a single value, optional
            The period, later than those seen. By default the next one.

        Returns
        -------
        self
        """
        given = None if classes is None else np.unique(column_or_1d(classes))
        if not self.__sklearn_is_fitted__():
            self._given = given
        elif given is not None and not np.array_equal(given, self.classes_):
            raise DataError(
                f"must be those of the first call, {self.classes_.tolist()}; got {given.tolist()}.",
                owner=f"{type(self).__name__}.partial_fit",
                name="classes",
            )
        return self._go_on(X, y, sample_weight, period)

    def _task(self) -> tuple[str, dict[str, int]]:
        count = len(self.classes_)
        return ("classification", {}) if count == 2 else ("multiclass", {"classes": count})

    def _targets(self, y: Any, *, reset: bool) -> Any:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        found = np.unique(y)
        classes = self.classes_ if not reset else found if self._given is None else self._given
        new = np.setdiff1d(found, classes)
        if len(new):
            raise DataError(
                f"must be among the classes {classes.tolist()}; got {new[0].item() if hasattr(new[0], 'item') else new[0]!r}, "
                "which was not among them in the first call.",
                name="y",
            )
        if len(classes) < 2:
            raise DataError(f"must have at least two classes; got one class, {classes.tolist()[0]!r}.", name="y")
        self.classes_ = classes
        return np.searchsorted(classes, y).astype(np.float64) if self.estimator is None else y

    def _periods_to_train(self, targets: Any, parts: list[tuple[Any, Any]]) -> int:
        missing = set(self.classes_.tolist())
        for count, (_, places) in enumerate(parts, 1):
            missing -= set(targets[places].tolist())
            if not missing:
                return max(count, super()._periods_to_train(targets, parts))
        raise DataError(
            f"must have rows of every class in the first period of an estimator; got none of {min(missing, key=str)!r}.",
            name="y",
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of rows: log-odds of the second of two classes, or the score of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            Rows.

        Returns
        -------
        ndarray of shape (rows,) or (rows, classes)
        """
        return np.asarray(self._of_tracker("decision_function", X))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, by the model of the last period.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            Rows.

        Returns
        -------
        ndarray of shape (rows,)
        """
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.0).astype(np.int64)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            Rows.

        Returns
        -------
        ndarray of shape (rows, classes)
        """
        return np.asarray(self._of_tracker("predict_proba", X))

    @property
    def coef_(self) -> FloatArray:
        """The coefficients of the linear model, of shape (1, columns), or (classes, columns) of several classes."""
        return np.atleast_2d(self._linear_tracker("coef_").coef)

    @property
    def intercept_(self) -> FloatArray:
        """The intercepts of the linear model, of shape (1,), or (classes,) of several classes."""
        return np.atleast_1d(np.asarray(self._linear_tracker("intercept_").intercept, dtype=np.float64))
