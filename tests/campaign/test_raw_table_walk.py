"""A raw table from Python: frames with texts and missing cells, an undo and late rows."""

import pandas as pd
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.inference import infer_definition
from driftpace.errors import DataError
from driftpace.storage import MemoryStore
from tests.campaign.test_undo import recomputed
from tests.reference.raw_table import as_columns, missing, visits

TABLE = visits()
OCTOBER, NOVEMBER, _ = TABLE


def test_the_walk() -> None:
    frames = {month: pd.DataFrame(as_columns(rows)) for month, rows in TABLE.items()}
    for frame in frames.values():
        frame[["age", "score", "spend"]] = frame[["age", "score", "spend"]].astype(float)
    inferred = infer_definition(
        pd.concat(frames.values()), target="spend", name="spend", tolerance=0.3, id="customer", seed=1
    )
    campaign = Campaign.create(inferred.definition, storage=MemoryStore())

    def drawn(month: str) -> pd.DataFrame:
        campaign.ask(key=month)
        ids = campaign.sample(frames[month].drop(columns="spend")).ids
        return frames[month][frames[month]["customer"].isin(ids)]

    rows = drawn(OCTOBER)
    X, y = rows.drop(columns="spend"), rows["spend"]
    with pytest.raises(DataError, match=r"Campaign.tell\(y=...\) must have one value for each of \d+ rows; got 3"):
        campaign.tell(X, y[:3])
    receipt = campaign.tell(X, y, delivery="october", final=False)
    cells = missing([row for row in TABLE[OCTOBER] if row["customer"] in set(rows["customer"])])
    assert (receipt.rows, {item.column: item.cells for item in receipt.filled}) == (len(rows), cells)
    assert campaign.tell_table(rows).repeated == len(rows)
    wrong = frames[NOVEMBER]
    with pytest.raises(DataError, match="must be rows drawn for period 1"):
        campaign.tell(wrong.drop(columns="spend"), wrong["spend"])
    campaign.tell(wrong.drop(columns="spend"), wrong["spend"], accept_others=True, final=False, delivery="wrong")
    assert campaign.undo(delivery="wrong", reason="the rows of November").rows == len(wrong)
    campaign.tell(final=True)

    rows = drawn(NOVEMBER)
    campaign.tell(rows[:4].drop(columns="spend"), rows["spend"][:4], final=True)
    late = campaign.tell(rows[4:].drop(columns="spend"), rows["spend"][4:], key=NOVEMBER)
    assert [(part.period, part.rows) for part in late.late] == [(2, len(rows) - 4)]
    recomputed(campaign)
