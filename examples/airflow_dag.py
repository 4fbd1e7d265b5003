"""A DAG of Airflow: every week ask, deliver the file of labels when it is there, wait for the rest, and close the period."""

from datetime import datetime, timedelta

from airflow.sdk import DAG

from driftpace.airflow import AskOperator, CloseOperator, OrderSensor, TellOperator

FOLDER = "/var/lib/driftpace"

with DAG("driftpace_shops", schedule="@weekly", start_date=datetime(2026, 11, 2), catchup=False) as dag:
    where = {"campaign": "shops", "conn_id": "driftpace"}
    ask = AskOperator(task_id="ask", select=f"{FOLDER}/pool.csv", out=f"{FOLDER}/tasks-{{{{ ds }}}}.csv", **where)
    late = {"retries": 48, "retry_delay": timedelta(hours=1)}  # until the file is there
    tell = TellOperator(task_id="tell", file=f"{FOLDER}/labels-{{{{ ds }}}}.csv", **late, **where)
    wait = OrderSensor(task_id="wait", mode="reschedule", poke_interval=600.0, **where)
    close = CloseOperator(task_id="close", **where)
    ask >> tell >> wait >> close
