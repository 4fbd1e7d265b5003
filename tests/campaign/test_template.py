"""The campaign file that is written is the campaign file that is read."""

from hypothesis import given
from hypothesis import strategies as st

from driftpace.campaign.definition import Definition
from driftpace.campaign.template import template

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@given(
    target=words.map(lambda word: f"t{word}"),
    features=st.lists(words.map(lambda word: f"f{word}"), min_size=1, max_size=4, unique=True),
    levels=st.lists(words, min_size=2, max_size=4, unique=True),
    classes=st.none() | st.lists(words, min_size=2, max_size=2, unique=True),
    budget=st.booleans(),
)
def test_whatever_is_filled_in_is_read_back(
    target: str, features: list[str], levels: list[str], classes: list[str] | None, budget: bool
) -> None:
    values = {
        "name": "churn",
        "target": target,
        "features": features,
        "categories": {features[0]: levels},
        "unknown_categories": {features[0]: levels[-1] if classes else levels[:2]} if budget else None,
        "missing": "drop" if budget else None,
        "fill": {features[-1]: 0.1} if len(features) > 1 else None,
        "indicators": features[-1:] if len(features) > 1 else None,
        "classes": classes,
        "epsilon": 0.25,
        "keep_rows": False,
        "certificate_level": 0.8,
        "pool": 70,
        "cap": 500,
        "orders": 2,
        "season": "month",
        "audit": 0.2,
        "fit_intercept": False,
        "seed": 5,
        "budget": {"total": 10, "horizon": 3, "per_sample": "0.5", "currency": "EUR"} if budget else None,
    }
    definition = Definition.of_toml(template(values, file="x.toml"))
    assert definition == Definition.of(values)


def test_every_setting_that_is_only_a_comment_is_one_that_exists() -> None:
    text = template({"name": "churn"})
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    settings = [line for line in lines if " = " in line and not line.startswith("[")]
    table = settings.index(next(line for line in settings if line.startswith("total")))
    both = "\n".join(
        line
        for line in settings[:table]
        if not line.startswith(("tolerance", "exposure", "text", "model", "segment", "epsilons"))
    )
    whole = f"{both}\n[budget]\n" + "\n".join(settings[table:])
    definition = Definition.of_toml(whole.replace('loss = "squared"', 'loss = "logistic"').replace("region", "age"))
    assert definition.budget is not None
    assert (definition.confidence, definition.orders) == (0.9, 1)
    model = next(line for line in settings if line.startswith("model"))
    assert Definition.of_toml(f'name = "flats"\nepsilon = 0.1\nperiod = "sold:month"\n{model}').model is not None
