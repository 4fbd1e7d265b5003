"""Second moments of many rows, in blocks: on a GPU where torch sees one and the rows are many, else with NumPy."""

from importlib import import_module
from typing import Any

import numpy as np

from driftpace.typing import FloatArray

GPU_CELLS = 50_000_000
"""Cells of a pool from which on a GPU is looked for: importing torch takes longer than fewer cells do."""

_BLOCK, _GPU_BLOCK = 4096, 1 << 18


def split_moments(X: Any, center: FloatArray, *, gpu: bool | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the sums of (x - center)(x - center)' over rows, without every third and of every third, (columns, columns) each.

    Rows are read in blocks, so that memory is that of a block and of the two sums. Blocks of single precision are multiplied in
    single precision by NumPy, and added up in double precision.

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        Rows.
    center : ndarray of shape (columns,)
        What they are counted from.
    gpu : bool, optional
        Whether to use a GPU; by default where torch is installed, sees one, and the rows are many.

    Examples
    --------
    >>> first, third = split_moments(np.array([[1.0], [2.0], [4.0]]), np.zeros(1))
    >>> first.tolist(), third.tolist()
    ([[5.0]], [[16.0]])
    """
    device = _gpu(X.size) if gpu is None else _torch() if gpu else None
    if device is not None:
        return _on_gpu(device, X, center)
    columns = X.shape[1]
    sums = np.zeros((2, columns, columns))
    mean: Any = center.astype(np.float32) if X.dtype == np.float32 else center
    for start in range(0, len(X), _BLOCK):
        block = np.asarray(X[start : start + _BLOCK], dtype=mean.dtype) - mean
        third = (np.arange(start, start + len(block)) % 3) == 2
        for place, rows in enumerate((block[~third], block[third])):
            sums[place] += rows.T @ rows
    return sums[0], sums[1]


def _gpu(cells: int) -> Any:
    """Return torch where it sees a GPU and the cells are many; None otherwise."""
    if cells < GPU_CELLS:
        return None
    try:
        torch = _torch()
        return torch if torch.cuda.is_available() else None
    except (ImportError, RuntimeError, OSError):  # an installation without its driver: the CPU does the same
        return None


def _torch() -> Any:
    return import_module("torch")


def _on_gpu(torch: Any, X: Any, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    columns = X.shape[1]
    mean = torch.as_tensor(center, dtype=torch.float64, device=device)
    sums = [torch.zeros((columns, columns), dtype=torch.float64, device=device) for _ in range(2)]
    for start in range(0, len(X), _GPU_BLOCK):
        block = torch.as_tensor(np.ascontiguousarray(X[start : start + _GPU_BLOCK])).to(device).double() - mean
        third = torch.arange(start, start + len(block), device=device) % 3 == 2
        for total, rows in zip(sums, (block[~third], block[third]), strict=True):
            total += rows.T @ rows
    return sums[0].cpu().numpy(), sums[1].cpu().numpy()
