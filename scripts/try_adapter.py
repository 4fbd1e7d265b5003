"""Follow a small model of one library for three periods, train it again, save it and load it: python try_adapter.py LIBRARY."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import Tracker
from driftpace.errors import ProtocolError

rng = np.random.default_rng(0)


def draw(rows: int) -> tuple[Any, Any]:
    """Return labelled rows."""
    X = rng.uniform(-2.0, 2.0, (rows, 3)).astype(np.float32)
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(rows)


def with_lightgbm(X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a booster of LightGBM."""
    import lightgbm

    return lightgbm.train({"verbosity": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 30), {}


def with_xgboost(X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a booster of XGBoost."""
    import xgboost

    return xgboost.train({"nthread": 1}, xgboost.DMatrix(X, y), 30), {}


def with_catboost(X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model of CatBoost."""
    import catboost

    return catboost.CatBoostRegressor(iterations=30, verbose=0, thread_count=1, allow_writing_files=False).fit(X, y), {}


def with_sklearn(X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a pipeline of scikit-learn."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), RandomForestRegressor(20, random_state=0)).fit(X, y), {}


def with_torch(X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a trained net of torch."""
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    rows, targets = torch.tensor(X), torch.tensor(y, dtype=torch.float32)
    steps = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(200):
        steps.zero_grad()
        torch.nn.functional.mse_loss(net(rows)[:, 0], targets).backward()
        steps.step()
    return net, {"task": "regression"}


def with_onnx(X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a linear model as ONNX."""
    from onnx import TensorProto, helper

    coef = np.linalg.lstsq(X, y, rcond=None)[0].astype(np.float32)
    weights = helper.make_tensor("W", TensorProto.FLOAT, [3, 1], coef)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "W"], ["y"])],
        "line",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, {"task": "regression"}


def main(library: str) -> None:
    """Follow the model of a library."""
    model, given = globals()[f"with_{library}"](*draw(1000))
    tracker = Tracker.for_model(model, epsilon=0.05, rng=0, **given)
    tracker.fit_pool(draw(300)[0])
    labels = [tracker.step(lambda rows: draw(max(rows, 50))).samples for _ in range(3)]
    try:
        tracker.retrain()
    except (ProtocolError, ValueError) as error:  # nothing better was found, or the model cannot be trained here
        print(error)
    X, _ = draw(50)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        tracker.save(path)
        again = Tracker.load(path, **({"model": model} if library == "torch" else {}))
    np.testing.assert_array_equal(again.predict(X), tracker.predict(X))
    print(f"{library}: {type(tracker.base).__name__}, {labels} labels; the loaded tracker predicts the same.")


if __name__ == "__main__":
    main(sys.argv[1])
