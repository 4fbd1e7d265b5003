"""Whether a base model should be trained again, and what that would gain."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Retraining:
    """The advice of a period on training the base again; it is true where training is due.

    Parameters
    ----------
    due : bool
        Whether the gain exceeds 0.15 of the target and its lower end is above zero.
    gain, error : float, optional
        How much the loss is expected to fall, with the standard error; None while there are too few rows. It is what a model
        trained again, or a smooth correction of the one in use, gains on rows left out.
    lower : float, optional
        The lower end of the gain of models trained from nothing, at 97.5 %; at most zero where the labels do not show any.
    threshold : float
        What the gain must exceed.
    rows, periods : int
        The labels that it was estimated from, which were bought for the head.
    since : int
        The periods since the base was trained, as far as the tracker knows.
    problem : str, optional
        Why the gain is not known although there are labels: what the library of the model said of training on parts of them.
    way : {"correction", "fresh", "smooth"}, optional
        How training is best done: from the scores of the model in use, from nothing, or by a smooth correction of these scores.

    Examples
    --------
    >>> advice = Retraining(due=True, gain=0.012, error=0.004, lower=0.007, threshold=0.006, rows=420, periods=8, since=7)
    >>> bool(advice), advice.sentence
    (True, 'training the base again would lower the loss by 0.0120 ± 0.0040 (420 rows of 8 periods)')
    >>> Retraining(due=False, gain=-0.005, error=0.0083, lower=-0.016, threshold=0.006, rows=727, periods=3, since=3).sentence
    'the base need not be trained again: the expected gain is -0.005 ± 0.0083 (727 rows of 3 periods)'
    >>> Retraining(due=False, gain=0.0, error=0.0, lower=0.0, threshold=0.006, rows=54, periods=1, since=1).sentence
    'the base need not be trained again: no training that was tried is better on rows left out (54 rows of 1 period)'
    """

    due: bool
    gain: float | None
    error: float | None
    lower: float | None
    threshold: float
    rows: int
    periods: int
    since: int
    way: str | None = None
    problem: str | None = None

    def __bool__(self) -> bool:
        return self.due

    @property
    def sentence(self) -> str:
        """The advice in words, without a full stop."""
        over = f"{self.rows:,} rows of {self.periods} period{'' if self.periods == 1 else 's'}"
        if self.problem is not None:
            return f"it is not known whether the base should be trained again ({over}): {self.problem}"
        if self.gain is None or self.error is None:
            return f"too few labels to say whether the base should be trained again ({over})"
        if self.due:
            return f"training the base again would lower the loss by {self.gain:#.3g} ± {self.error:#.2g} ({over})"
        return f"the base need not be trained again: {self.not_due} ({over})"

    @property
    def not_due(self) -> str:
        """Why training is not due, in words; where no training was better in any part of the rows, its gain is exactly zero."""
        if self.gain == self.error == 0.0:
            return "no training that was tried is better on rows left out"
        return f"the expected gain is {self.gain:.2g} ± {self.error:.2g}"
