"""Log a campaign to MLflow: once, or again after every period, into the same run."""

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from driftpace.campaign import Campaign, CampaignModel, LedgerRow
from driftpace.campaign.ledger import LEDGER_COLUMNS, Ledger, LedgerColumn
from driftpace.campaign.template import template
from driftpace.errors import MissingExtraError, ParameterError
from driftpace.models.artefacts import native_file

OWNER = "log_campaign"
CAMPAIGN, CREATED, MODEL = "driftpace.campaign", "driftpace.created", "driftpace.model"
"""Tags of a run: the campaign, when it was created, and the hash of the model that was logged last."""

MOST_CHARACTERS = 500
"""The longest value of a parameter that every store of MLflow takes."""

_BATCH = {"metrics": 1000, "params": 100}
_PACKAGES = {
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost",),
    "catboost": ("catboost",),
    "onnx": ("onnxruntime",),
    "skops": ("sklearn", "skops"),
}


def log_campaign(
    campaign: Campaign, *, run_id: str | None = None, model: bool = True, registered_model_name: str | None = None
) -> str:
    """Log a campaign to MLflow: its definition, a metric for each number of the ledger, and the model.

    Call it after every period: the run of the campaign is found again, and only what is new or was revised is added. Nothing
    that is logged holds labelled rows, and the model is no pickle: ``mlflow.pyfunc.load_model`` reads it without running code
    that came with it.

    Parameters
    ----------
    campaign : Campaign
        The campaign.
    run_id : str, optional
        The run to log to. By default the active run, else the last run of the campaign in the current experiment, else a new one.
    model : bool, default True
        Whether to log the model, where there is one.
    registered_model_name : str, optional
        Register the model under this name, as a new version whenever it has changed.

    Returns
    -------
    str
        The id of the run.

    Raises
    ------
    MissingExtraError
        If MLflow or pandas is not installed.

    Examples
    --------
    After each period, with ``mlflow.set_tracking_uri("sqlite:///mlflow.db")``::

        run_id = log_campaign(campaign)
        mlflow.get_run(run_id).data.metrics["samples"]  # of the last period
    """
    if not isinstance(campaign, Campaign):
        raise ParameterError(f"must be a Campaign; got {campaign!r:.80}.", owner=OWNER, name="campaign")
    mlflow = _mlflow()
    made = campaign.model() if model and (campaign.status().last is not None or campaign.definition.model) else None
    ledger, values = campaign.ledger(), campaign.definition.to_values()
    created = campaign.log(limit=1)[0].at
    with _run(campaign.name, created, run_id) as run:
        _log_numbers(run, ledger, {CAMPAIGN: campaign.name, CREATED: created}, values)
        client, found = mlflow.MlflowClient(), run.info.run_id
        client.log_text(found, template(values, file="definition.toml"), "definition.toml")
        client.log_text(found, ledger.to_csv(), "ledger.csv")
        if made is not None:
            _log_model(run, made, registered_model_name, step=ledger[-1].report.period if ledger else 0)
        return str(found)


def _mlflow() -> Any:
    """Return MLflow; raise MissingExtraError if it or pandas, which its models read, is not installed."""
    try:
        import mlflow
        import pandas as pd  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'{OWNER}() needs {error.name}: pip install "driftpace[mlflow]".') from error
    return mlflow


@contextmanager
def _run(name: str, created: str, run_id: str | None) -> Iterator[Any]:
    """Open the run to log to."""
    mlflow = _mlflow()
    active = mlflow.active_run()
    if active is not None and run_id in (None, active.info.run_id):
        context: Any = nullcontext(active)
    else:
        found = _last_run(name, created) if run_id is None else run_id
        context = mlflow.start_run(run_id=found, run_name=None if found else name, nested=active is not None)
    with context as run:
        yield run


def _last_run(name: str, created: str) -> str | None:
    """Return the last run of a campaign in the current experiment."""
    where = " and ".join(f"tags.`{key}` = '{value}'" for key, value in ((CAMPAIGN, name), (CREATED, created)))
    runs = _mlflow().search_runs(filter_string=where, max_results=1, output_format="list")
    return str(runs[0].info.run_id) if runs else None


def _log_numbers(run: Any, ledger: Ledger, tags: dict[str, str], values: Mapping[str, Any]) -> None:
    """Log tags, parameters that the run does not have yet, and metrics that are new or other than before."""
    from mlflow.entities import Metric, Param, RunTag

    client, run_id = _mlflow().MlflowClient(), run.info.run_id
    known = client.get_run(run_id).data
    tags = {**tags, "driftpace.version": version("driftpace")}
    client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])
    params = [Param(key, text) for key, text in _params(values).items() if key not in known.params]
    for start in range(0, len(params), _BATCH["params"]):
        client.log_batch(run_id, params=params[start : start + _BATCH["params"]])
    metrics, now = [], round(time.time() * 1000.0)
    for column in LEDGER_COLUMNS:
        logged: dict[int, float] = {}
        if column.key in known.metrics:
            logged = {each.step: each.value for each in client.get_metric_history(run_id, column.key)}
        for row in ledger:
            value, step = _number(column, row), row.report.period
            if value is not None and logged.get(step) != value:
                at = now if step in logged else _milliseconds(row.closed_at)  # the latest of a step counts
                metrics.append(Metric(column.key, value, at, step))
    for start in range(0, len(metrics), _BATCH["metrics"]):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH["metrics"]])


def _params(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a definition as texts; of long lists the number of entries.

    >>> _params({"epsilon": 0.02, "features": ["a", "b"], "groups": None, "model": {"format": "lightgbm"}})
    {'epsilon': '0.02', 'features': '["a", "b"]', 'model.format': 'lightgbm'}
    """
    made: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            made |= {f"{key}.{inner}": text for inner, text in _params(value).items()}
        elif value is not None:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            made[key] = text if len(text) <= MOST_CHARACTERS else f"{len(value)} entries"
    return {key: text for key, text in made.items() if _allowed(key)}


def _allowed(key: str) -> bool:
    """Return whether MLflow takes the name of a parameter; categories may be of columns with any name."""
    return len(key) <= 250 and all(each.isalnum() or each in "_-. /" for each in key)


def _number(column: LedgerColumn, row: LedgerRow) -> float | None:
    """Return the number of a column in a period; None for texts, and where there is none."""
    if column.kind == "text" or column.key == "period":
        return None
    value = row.report.cost and row.report.cost.amount if column.kind == "money" else column.value(row)
    return None if value is None or not math.isfinite(value) else float(value)


def _milliseconds(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000.0)


def _log_model(run: Any, model: CampaignModel, name: str | None, *, step: int) -> None:
    """Log the model for MLflow to serve, and its base in the format of its library, unless that was done before."""
    mlflow = _mlflow()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "campaign-model.json"
        model.save(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        client, run_id = mlflow.MlflowClient(), run.info.run_id
        if client.get_run(run_id).data.tags.get(MODEL) == digest:
            return
        mlflow.pyfunc.log_model(
            name="model",
            loader_module="driftpace.mlflow.pyfunc",
            data_path=str(path),
            pip_requirements=_requirements(model),
            signature=_signature(model),
            registered_model_name=name,
            step=step,
        )
        base = None if model.base is None else native_file(model.base.adapter)
        if base is not None:
            file = Path(folder) / base[0]
            file.write_bytes(base[1])
            client.log_artifact(run_id, str(file), "base")
        client.set_tag(run_id, MODEL, digest)


def _signature(model: CampaignModel) -> Any:
    """Return the columns that the model reads; cells of any kind, as the campaign reads them."""
    from mlflow.models import ModelSignature
    from mlflow.types.schema import AnyType, ColSpec, Schema

    names = model.columns
    return None if names is None else ModelSignature(Schema([ColSpec(AnyType(), name) for name in names]))


def _requirements(model: CampaignModel) -> list[str]:
    """Return the packages that predict, with the versions that are installed."""
    base = None if model.base is None else model.base.adapter
    form = getattr(base, "base", base)
    packages = ("driftpace", "pandas", *_PACKAGES.get(getattr(form, "format", None) or "", ()))
    found = packages_distributions()
    names = [found.get(package, [package])[0] for package in packages]
    return [f"{name}=={_version(name)}" for name in names]


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:  # pragma: no cover  a package that was not installed by pip
        return "*"
