"""The operators and the sensor in a DAG of Airflow; skipped where Airflow is not installed, make platforms runs it."""

import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from driftpace import FleetCampaign
from driftpace.errors import MissingExtraError
from driftpace.executors import Executor, open_executor
from tests.platforms.conftest import label

pytestmark = pytest.mark.filterwarnings("ignore")  # Airflow warns of its own libraries

ROOT = Path(__file__).parents[2]


@pytest.fixture
def operators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The operators, with a home of Airflow of their own."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
    pytest.importorskip("airflow.sdk")
    import driftpace.airflow

    return driftpace.airflow


def test_a_period_is_asked_for_told_and_closed_once(operators: Any, shops: Path) -> None:
    where = {"campaign": "shops", "key": "2026-11-16", "storage": str(shops / "driftpace.db")}
    ask = operators.AskOperator(task_id="ask", select=str(shops / "pool.csv"), out=str(shops / "tasks.csv"), **where)
    wait = operators.OrderSensor(task_id="wait", **where)
    close = operators.CloseOperator(task_id="close", **where)
    order = ask.execute({})
    assert ask.execute({}) == order
    assert not wait.poke({})
    label(shops / "tasks.csv", shops / "labels.csv")
    tell = operators.TellOperator(task_id="tell", file=str(shops / "labels.csv"), **where)
    assert tell.execute({})["rows"] == order["missing"]
    assert tell.execute({})["rows"] == 0
    assert close.execute({})["closed"]
    assert close.execute({})["closed"]
    assert wait.poke({})
    campaign = FleetCampaign.open("shops", storage=shops / "driftpace.db")
    assert [period.key for period in campaign.ledger()] == ["2026-11-16"]
    assert campaign.log(kinds=("asked",))[0].body["who"] == "airflow"


def test_the_key_of_a_run_is_its_date_and_the_fields_are_templates(operators: Any) -> None:
    ask = operators.AskOperator(task_id="ask", campaign="shops", out="/x/tasks-{{ ds }}.csv")
    assert ask.key == "{{ ds }}"
    assert {"key", "storage", "address", "select", "out", "campaign"} == set(ask.template_fields)
    ask.render_template_fields({"ds": "2026-11-16"})
    assert (ask.key, ask.out) == ("2026-11-16", "/x/tasks-2026-11-16.csv")


def test_segments_are_worked_on_by_an_engine(operators: Any, shops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def opened(*args: Any, **options: Any) -> Executor:
        given.append((args, options))
        return open_executor()

    monkeypatch.setattr("driftpace.campaign.jobs.open_executor", opened)
    where = {"campaign": "shops", "key": "W1", "storage": str(shops / "driftpace.db")}
    ask = operators.AskOperator(task_id="ask", executor="dask", address="tcp://{{ host }}:8786", **where)
    ask.render_template_fields({"host": "10.0.0.1"})
    assert ask.execute({})["missing"] > 0
    assert given == [(("dask",), {"address": "tcp://10.0.0.1:8786", "owner": "jobs"})]


def test_the_password_comes_from_a_connection(operators: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DRIFTPACE", "postgres://anna:secret@db/labels")
    close = operators.CloseOperator(task_id="close", campaign="shops", conn_id="driftpace")
    assert close.where()["storage"] == "postgresql://anna:secret@db/labels"


def test_the_example_is_a_dag(operators: Any) -> None:
    dag = runpy.run_path(str(ROOT / "examples" / "airflow_dag.py"))["dag"]
    assert {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks} == {
        "ask": ["tell"],
        "tell": ["wait"],
        "wait": ["close"],
        "close": [],
    }


@pytest.mark.skipif(find_spec("airflow") is not None, reason="Airflow is installed")
def test_without_airflow_one_sentence_says_what_to_install() -> None:
    from driftpace.airflow import AskOperator

    with pytest.raises(MissingExtraError, match=r"AskOperator needs Airflow 3: pip install \"driftpace\[airflow\]\""):
        AskOperator(task_id="ask", campaign="shops")
