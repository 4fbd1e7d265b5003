"""ONNX models, run by onnxruntime: sessions, or the bytes of a file."""

from typing import Any

import numpy as np

from driftpace.errors import ParameterError
from driftpace.models.adapter import TASKS, ModelAdapter, Task, class_labels, log_odds, one_line
from driftpace.models.packing import pack, unpack
from driftpace.models.rows import column_names, count_rows, is_matrix, with_columns
from driftpace.typing import FloatArray

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(string)": np.str_,
}


class OnnxAdapter(ModelAdapter):
    """An ONNX model with one matrix as its input, or one input for each column; it cannot be trained again.

    Classifiers that were converted from other libraries have two outputs, labels and probabilities, and say themselves what
    they predict. A model of one output is taken for a regression unless ``task`` says otherwise.

    Parameters
    ----------
    model : onnxruntime.InferenceSession, onnx.ModelProto or bytes
        The model. A session is used as it is, and cannot be saved.
    task : {"regression", "classification", "multiclass", "counts"}, optional
        What it predicts.
    labels : sequence, optional
        The labels of its classes; by default those of its probabilities, or 0, 1, ...
    probabilities : bool, optional
        Whether it returns probabilities of classes and not scores; by default where it returns labels besides.
    """

    def __init__(
        self, model: Any, *, task: str | None = None, labels: Any = None, probabilities: bool | None = None
    ) -> None:
        if task is not None and task not in TASKS:
            raise ParameterError(f"must be one of {', '.join(TASKS)}; got {task!r}.", owner="adapt", name="task")
        data = model if isinstance(model, bytes) else None
        if hasattr(model, "SerializeToString"):
            data = model.SerializeToString()
        super().__init__(model if data is None else _session(data))
        self._data = data
        self.format = None if data is None else "onnx"
        self._inputs = self.model.get_inputs()
        unknown = [each.type for each in self._inputs if each.type not in _TYPES]
        if unknown:
            raise ParameterError(
                f"must have inputs of numbers or texts; got one of {unknown[0]}.", owner="adapt", name="model"
            )
        shape = self._inputs[0].shape
        if len(self._inputs) > 1:
            self.columns = tuple(each.name for each in self._inputs)
            self.features = len(self._inputs)
        elif len(shape) == 2 and isinstance(shape[1], int):
            self.features = shape[1]
        outputs = self.model.get_outputs()
        self._output = len(outputs) - 1 if len(outputs) < 3 else 1
        self._probabilities = len(outputs) > 1 if probabilities is None else probabilities
        self._read_task(task, labels)

    def _read_task(self, task: str | None, labels: Any) -> None:
        own, width = self._shape()
        if task is None:
            if not self._probabilities and width > 1:
                raise ParameterError(
                    f"must be given with a model of {width} scores: classification or multiclass; got None.",
                    owner="adapt",
                    name="task",
                )
            task = "regression" if not self._probabilities else "classification" if width <= 2 else "multiclass"
        if not {"classification": width <= 2, "multiclass": width > 2}.get(
            task, width == 1 and not self._probabilities
        ):
            raise ParameterError(
                f"must be that of a model with {width} {'probabilities' if self._probabilities else 'scores'}; got {task!r}.",
                owner="adapt",
                name="task",
            )
        self.task: Task = task  # type: ignore[assignment]
        if self.task in ("classification", "multiclass"):
            self.labels = class_labels(max(width, 2), labels, own)

    def _shape(self) -> tuple[tuple[Any, ...] | None, int]:
        """Return the labels that the model knows, and the number of its scores, from one row of zeros where it has to run."""
        output = self.model.get_outputs()[self._output]
        shape = output.shape
        if output.type.startswith("tensor") and len(shape) == 2 and isinstance(shape[1], int):
            return None, shape[1]
        if output.type.startswith("tensor") and len(shape) == 1:
            return None, 1
        if self.features is None:
            raise ParameterError(
                "must say how many columns it takes; got an input of unknown width.", owner="adapt", name="model"
            )
        found = self._run(np.zeros((1, self.features)))
        if isinstance(found, list):
            return tuple(found[0]), len(found[0])
        return None, found.shape[1] if found.ndim == 2 else 1

    def _run(self, X: Any) -> Any:
        if len(self._inputs) == 1:
            each = self._inputs[0]
            values = X if is_matrix(X) else _table(X)
            values = values.toarray() if hasattr(values, "toarray") else values
            fed = {each.name: np.asarray(values).astype(_TYPES[each.type])}
        else:
            fed = {}
            for place, each in enumerate(self._inputs):
                column = X[:, place] if is_matrix(X) else _table(with_columns(X, [each.name]))
                column = column.toarray() if hasattr(column, "toarray") else column
                fed[each.name] = np.asarray(column).astype(_TYPES[each.type]).reshape(-1, 1)
        return self.model.run(None, fed)[self._output]

    def scores(self, X: Any) -> FloatArray:
        """Return the scores, or the log-odds of the probabilities."""
        found = self._run(X)
        if isinstance(found, list):  # one mapping from labels to probabilities for each row
            found = [list(each.values()) for each in found]
        values = np.asarray(found, dtype=np.float64).reshape(count_rows(X), -1)
        if self._probabilities:
            return log_odds(values[:, -1] if self.task == "classification" else values)
        if self.task == "classification" and values.shape[1] == 2:
            return np.asarray(values[:, 1] - values[:, 0])
        return values[:, 0] if values.shape[1] == 1 else values

    def dump(self) -> bytes:
        """Return the bytes of the model, and what is known of it."""
        if self._data is None:
            return super().dump()
        facts = {"task": self.task, "labels": self.labels, "probabilities": self._probabilities}
        return pack(self._data, **facts)

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "OnnxAdapter":  # noqa: ARG003
        """Return the model of such bytes."""
        raw, facts = unpack(data)
        return cls(raw, **facts)


def _session(data: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # sums in another order would give other scores
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes have no common base
        raise ParameterError(
            f"must be a model that onnxruntime can run; it said: {one_line(error)}", owner="adapt", name="model"
        ) from None


def _table(X: Any) -> Any:
    import narwhals as nw

    assert column_names(X, "OnnxAdapter") is not None
    return nw.from_native(X, eager_only=True).to_numpy()
