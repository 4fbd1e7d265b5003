"""What a method remembers that follows a model by a head on top of it."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

from driftpace.errors import StateFileError
from driftpace.models import Gain, HeadFeatures, ModelAdapter, ScoredRows
from driftpace.models.stored import StoredModel
from driftpace.tracker.state import PeriodOrder
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeadState:
    """The state of the head, ``inner``, and what is known of the base.

    The base has the hash ``sha256``; ``base`` is not part of a saved state, and is given again when it is read. ``rows`` are the
    labelled rows that are kept for training, oldest first, ``open_rows`` those of the open period. ``trained`` is the period
    after which the base was trained; 0 where it is the first. ``gain`` is what training it again would have gained in the last
    period.
    """

    columns: tuple[str, ...]
    form: str
    sha256: str
    inner: Any
    head_features: HeadFeatures | None = None
    rows: tuple[ScoredRows, ...] = ()
    open_rows: tuple[ScoredRows, ...] = ()
    trained: int = 0
    gain: Gain | None = None
    base: StoredModel | None = field(default=None, metadata={"saved": False})

    @property
    def adapter(self) -> ModelAdapter:
        """The base."""
        if self.base is None:
            raise StateFileError(f"the model {self.sha256[:12]} of the state is kept in its campaign; open that.")
        return self.base.adapter

    @property
    def period(self) -> int:
        """The open period, from 1."""
        period: int = self.inner.period
        return period

    @property
    def order(self) -> PeriodOrder | None:
        """What was decided for the period."""
        order: PeriodOrder | None = self.inner.order
        return order

    @property
    def gathered(self) -> int:
        """The number of rows in the open period so far."""
        gathered: int = self.inner.gathered
        return gathered

    @property
    def features(self) -> int:
        """The number of columns of the base."""
        return len(self.columns)

    @property
    def coef(self) -> FloatArray | None:
        """The head."""
        coef: FloatArray | None = self.inner.coef
        return coef

    @property
    def bought(self) -> bool:
        """Whether the last closed period had rows."""
        bought: bool = self.inner.bought
        return bought

    @property
    def rows_seen(self) -> int:
        """The number of rows that the head was fitted to."""
        seen: int = self.inner.rows_seen
        return seen

    def without_rows(self) -> Self:
        """Return the state without the rows of the open period."""
        return replace(self, inner=self.inner.without_rows(), open_rows=())

    def without_order(self) -> Self:
        """Return the state before the open period was sized."""
        return replace(self, inner=self.inner.without_order())
