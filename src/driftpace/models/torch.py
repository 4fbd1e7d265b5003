"""Modules of torch: their scores, their last hidden layer, and further training of their last layers."""

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError
from driftpace.models.adapter import TASKS, ModelAdapter, class_labels, one_line
from driftpace.models.packing import pack, stages_of, unpack
from driftpace.models.rows import count_rows, is_matrix, take
from driftpace.typing import FloatArray

EPOCHS = 40
RATE = 1e-3
DECAY = 1e-4
BATCH = 64
TRAINED = 2
"""The recipe of :meth:`TorchAdapter.refit`: epochs of AdamW, its rate and decay, rows at once, and how many linear layers."""

AT_ONCE = 4096
"""Rows that are scored at once."""


class TorchAdapter(ModelAdapter):
    """A torch module that returns scores: numbers, logarithms of means, one logit or two of two classes, one of each of several.

    Scores are computed without gradients, in evaluation mode, on the device and in the precision of the module. The head sees the
    input of its last linear layer, or the output of the layer that ``layer`` names. Training again continues from the
    weights of the module: AdamW for forty epochs (rate 0.001, decay 0.0001, 64 rows at once, the same order of rows
    every time, in evaluation mode) on the parameters of its last two linear layers, the others as they are; a correction of given
    scores starts with its last layer at zero. ``refit`` replaces that by a function of your own.

    Parameters
    ----------
    model : torch.nn.Module
        A trained module.
    task : {"regression", "classification", "multiclass", "counts"}
        What it predicts; a module cannot say it.
    labels : sequence, optional
        The labels of its classes; by default 0, 1, ...
    layer : str, optional
        The name of the layer whose output the head sees, as in ``model.named_modules()``.
    convert : callable, optional
        ``convert(X)`` returns what the module takes of rows; by default one tensor.
    refit : callable, optional
        ``refit(model, X, y, sample_weight)`` returns another module, trained on these rows; classes by number.
    """

    format = "torch"
    needs_model = True

    def __init__(
        self,
        model: Any,
        *,
        task: str | None = None,
        labels: Any = None,
        layer: str | None = None,
        convert: Callable[[Any], Any] | None = None,
        refit: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(model)
        if task is None:
            raise ParameterError(
                f"must be given with a torch module: {', '.join(TASKS)}; got None.", owner="adapt", name="task"
            )
        validation.choice("adapt", TASKS, task=task)
        self.task = task  # type: ignore[assignment]
        self._layer, self._convert, self._refit = layer, convert, refit
        self._stages: list[dict[str, Any]] = []
        modules = dict(model.named_modules())
        if layer is not None and layer not in modules:
            raise ParameterError(
                f"must be the name of a layer of the module, such as {list(modules)[-1]!r}; got {layer!r}.",
                owner="adapt",
                name="layer",
            )
        self._linear = [name for name, each in modules.items() if type(each).__name__ == "Linear"]
        if convert is None and self._linear and modules[self._linear[0]] is next(_leaves(model), None):
            self.features = modules[self._linear[0]].in_features
        if task == "multiclass":
            self.labels = class_labels(self._classes(modules, labels), labels)
        elif task == "classification":
            self.labels = class_labels(2, labels)
        self.takes_offset = refit is None and bool(self._linear)

    def _classes(self, modules: dict[str, Any], labels: Any) -> int:
        if self._linear:
            return int(modules[self._linear[-1]].out_features)
        if labels is None:
            raise ParameterError(
                "must be the labels of the classes of a module without linear layers; got None.",
                owner="adapt",
                name="labels",
            )
        return len(labels)

    def _input(self, X: Any) -> Any:
        """Return rows as a tensor on the device of the module, in its precision."""
        if self._convert is not None:
            return self._convert(X)
        import torch

        if not is_matrix(X):
            import narwhals as nw

            X = nw.from_native(X, eager_only=True).to_numpy()
        values = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        first = next(self.model.parameters(), torch.zeros(()))
        return torch.as_tensor(values.astype(np.float64), device=first.device).to(first.dtype)

    def _output(self, module: Any, part: Any) -> Any:
        """Return the scores of a part of the rows, (rows,) or (rows, classes), as a tensor."""
        found = module(part)
        if self.task == "classification" and found.ndim == 2 and found.shape[1] == 2:
            return found[:, 1] - found[:, 0]
        return found.squeeze(1) if found.ndim == 2 and found.shape[1] == 1 else found

    def scores(self, X: Any) -> FloatArray:
        """Return what the module says of rows."""
        return self._each(X, lambda part: self._output(self.model, self._input(part)))

    def _each(self, X: Any, of: Callable[[Any], Any]) -> FloatArray:
        import torch

        training = [each for each in self.model.modules() if each.training]
        self.model.eval()
        try:
            with torch.no_grad():
                rows = range(0, max(count_rows(X), 1), AT_ONCE)
                found = [
                    of(take(X, np.arange(start, min(start + AT_ONCE, count_rows(X))))).double().cpu().numpy()
                    for start in rows
                ]
        finally:
            for each in training:
                each.training = True
        return np.concatenate(found)

    def hidden(self, X: Any) -> FloatArray | None:
        """Return the input of the last linear layer, or the output of the named one."""
        if self._layer is None and not self._linear:
            return None
        layer = self.model.get_submodule(self._layer if self._layer is not None else self._linear[-1])
        seen: list[Any] = []
        if self._layer is None:
            hook = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        else:
            hook = layer.register_forward_hook(lambda _, __, made: seen.append(made))

        def of(part: Any) -> Any:
            seen.clear()
            self.model(self._input(part))
            return seen[-1].reshape(len(seen[-1]), -1)

        try:
            return self._each(X, of)
        finally:
            hook.remove()

    @property
    def trainable(self) -> bool:
        """Whether there is a linear layer, or a function that trains."""
        return self._refit is not None or bool(self._linear)

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> "TorchAdapter":
        """Return a copy of the module, trained further on these rows."""
        if self._refit is not None:
            return self._like(self._refit(copy.deepcopy(self.model), X, y, sample_weight))
        if not self._linear:
            raise ParameterError(
                "must have a linear layer to be trained further; pass TorchAdapter(model, refit=f) with "
                "f(model, X, y, sample_weight) that returns a trained module.",
                owner="Tracker.retrain",
                name="model",
            )
        made = self._like(copy.deepcopy(self.model))
        try:
            made._train(X, y, np.ones(len(y)) if sample_weight is None else sample_weight, offset)
        except RuntimeError as error:  # what torch raises of wrong shapes and memory
            raise DataError(f"must be rows that torch can train on; it said: {one_line(error)}", name="X") from error
        return made

    def _like(self, module: Any) -> "TorchAdapter":
        return TorchAdapter(
            module, task=self.task, labels=self.labels, layer=self._layer, convert=self._convert, refit=self._refit
        )

    def _train(self, X: Any, y: FloatArray, weights: FloatArray, offset: FloatArray | None) -> None:
        import torch

        module = self.model.eval()
        last = [module.get_submodule(name) for name in self._linear[-TRAINED:]]
        if offset is not None:
            for parameter in last[-1].parameters():
                torch.nn.init.zeros_(parameter)
        asked = [(parameter, parameter.requires_grad) for parameter in module.parameters()]
        for parameter, _ in asked:
            parameter.requires_grad_(False)
        trained = [parameter.requires_grad_(True) for each in last for parameter in each.parameters()]
        first = trained[0]

        def tensor(values: FloatArray) -> Any:
            return torch.as_tensor(np.ascontiguousarray(values)).to(first)

        targets, shares = tensor(y), tensor(weights)
        before = None if offset is None else tensor(offset[:, 0] if self.outputs == 1 else offset)
        optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=DECAY)
        order, ends = np.random.default_rng(0), stages_of(EPOCHS)
        for epoch in range(1, EPOCHS + 1):
            places = order.permutation(len(y))
            for start in range(0, len(y), BATCH):
                at = places[start : start + BATCH]
                scores = self._output(module, self._input(take(X, at)))
                scores = scores if before is None else scores + before[at]
                losses = _losses(self.task, scores, targets[at])
                optimizer.zero_grad()
                (losses * shares[at]).mean().backward()
                optimizer.step()
            if epoch in ends:
                self._stages.append({name: value.detach().clone() for name, value in module.state_dict().items()})
        for parameter, before_training in asked:
            parameter.requires_grad_(before_training)

    def staged_scores(self, X: Any) -> FloatArray:
        """Return the scores after shares of the epochs of :meth:`refit`."""
        if not self._stages:
            return super().staged_scores(X)
        return np.array([self.stage(number).scores(X) for number in range(len(self._stages))])

    def stage(self, number: int) -> Self:
        """Return the module after that share of the epochs."""
        if number >= len(self._stages) - 1:
            return self
        module = copy.deepcopy(self.model)
        module.load_state_dict(self._stages[number])
        made: Any = self._like(module)
        return made  # type: ignore[no-any-return]

    def dump(self) -> bytes:
        """Return the weights as safetensors, and what is known of the module; not its code."""
        from safetensors.torch import save

        state = self.model.state_dict()
        weights = {name: value.detach().cpu().clone().contiguous() for name, value in state.items()}
        return pack(save(weights), task=self.task, labels=self.labels, layer=self._layer)

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "TorchAdapter":
        """Return the given module, or adapter of one, with the saved weights."""
        from safetensors.torch import load

        raw, facts = unpack(data)
        given = model if isinstance(model, cls) else None
        module = copy.deepcopy(model.model if given is not None else model() if isinstance(model, type) else model)
        if not hasattr(module, "load_state_dict"):
            raise ParameterError(
                f"must be the torch module whose weights are in the file, trained or not; got {module!r:.80}.",
                owner="Tracker.load",
                name="model",
            )
        try:
            module.load_state_dict(load(raw))
        except RuntimeError as error:
            raise ParameterError(
                f"must be a module of the same layers as the saved one; torch said: {one_line(error)}",
                owner="Tracker.load",
                name="model",
            ) from None
        if given is None:
            return cls(module, **facts)
        return given._like(module)


def _leaves(model: Any) -> Any:
    return (each for each in model.modules() if not list(each.children()))


def _losses(task: str, scores: Any, y: Any) -> Any:
    from torch.nn import functional

    if task == "classification":
        return functional.binary_cross_entropy_with_logits(scores, y, reduction="none")
    if task == "multiclass":
        return functional.cross_entropy(scores, y.long(), reduction="none")
    if task == "counts":
        return functional.poisson_nll_loss(scores, y, reduction="none")
    return (scores - y).square() / 2.0
