"""What is known of a metric in which the target of a tracker is given."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricReport:
    """The metric of the model in use, measured from labels that it did not see, beside the target.

    Parameters
    ----------
    name, title : str
        The metric, such as "auc", and in words, such as "AUC".
    target : float
        The target.
    higher : bool
        Whether the metric should be at least the target, not at most.
    expected : float
        The value expected of the model.
    measured, error : float, optional
        The value of this period and its standard error; None where no rows show it.
    mean, mean_error : float, optional
        The mean over the last ``periods`` measured periods, weighted by their rows, and its standard error.
    periods : int
        The periods that are pooled, at most twenty.
    best, best_error : float
        The value that the best model of the period is estimated to have, and its standard error.
    out_of_reach : bool
        Whether even the best model misses the target, by two and a half standard errors.
    held_out : int, default 0
        The rows held out in the pooled periods, where ``audit=`` asks for them. Without them each row is predicted by the fit
        without it.

    Examples
    --------
    >>> report = MetricReport(
    ...     name="accuracy", title="accuracy", target=0.9, higher=True, expected=0.86, measured=0.85, error=0.04,
    ...     mean=0.86, mean_error=0.01, periods=20, best=0.87, best_error=0.01, out_of_reach=True,
    ... )
    >>> report.sentence
    'accuracy 0.860 ± 0.010 over 20 periods (target at least 0.9); the best linear model reaches about 0.870 ± 0.010: out of reach'
    >>> report.interval
    (0.84, 0.88)
    """

    name: str
    title: str
    target: float
    higher: bool
    expected: float
    measured: float | None
    error: float | None
    mean: float | None
    mean_error: float | None
    periods: int
    best: float
    best_error: float
    out_of_reach: bool
    held_out: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """A 95 % interval for the mean; None before anything was measured."""
        if self.mean is None or self.mean_error is None:
            return None
        return round(self.mean - 2.0 * self.mean_error, 12), round(self.mean + 2.0 * self.mean_error, 12)

    @property
    def goal(self) -> str:
        """The target in words."""
        return f"{self.title} at {'least' if self.higher else 'most'} {self.target:g}"

    @property
    def sentence(self) -> str:
        """The metric in words, without a full stop."""
        asked = f"target at {'least' if self.higher else 'most'} {self.target:g}"
        best = f"the best linear model reaches about {self.best:#.3g} ± {self.best_error:.2g}"
        beyond = ": out of reach" if self.out_of_reach else ""
        if self.mean is None or self.mean_error is None:
            return f"{self.title} not measured yet ({asked})"
        over = "1 period" if self.periods == 1 else f"{self.periods} periods"
        rows = f" on {self.held_out:,} held-out rows" if self.held_out else ""
        return f"{self.title} {self.mean:#.3g} ± {self.mean_error:#.2g} over {over}{rows} ({asked}); {best}{beyond}"
