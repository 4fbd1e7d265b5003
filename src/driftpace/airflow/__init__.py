"""Airflow: operators that ask, tell and close, and a sensor that waits for the rows of an order.

Needs ``driftpace[airflow]``.
"""

from driftpace.airflow.operators import AskOperator, CloseOperator, OrderSensor, TellOperator

__all__ = ["AskOperator", "CloseOperator", "OrderSensor", "TellOperator"]
