"""The components of a pool, and the matrices of a look at many rows, on a GPU and on the CPU: both numbers, and seconds."""

import argparse
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from driftpace.wide.moments import split_moments


def main(given: Sequence[str] = ()) -> None:
    """Print seconds and the largest relative difference for pools of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=768)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--labels", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    parser.add_argument("--components", type=int, default=1_000)
    options = parser.parse_args(given)
    rng = np.random.default_rng(0)
    print("| rows | columns | CPU s | GPU s | CPU / GPU | largest relative difference |")
    print("|---|---|---|---|---|---|")
    scale = np.linspace(1.0, 0.1, options.columns, dtype=np.float32)
    for rows in options.rows:
        X = rng.standard_normal((rows, options.columns), dtype=np.float32) * scale
        center = X.mean(axis=0).astype(np.float64)
        split_moments(X[:1000], center, gpu=True)
        seconds, found = [], []
        for gpu in (False, True):
            began = time.perf_counter()
            found.append(split_moments(X, center, gpu=gpu))
            seconds.append(time.perf_counter() - began)
        gap = max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in zip(*found, strict=True))
        cpu, gpu_time = seconds
        print(
            f"| {rows:,} | {options.columns} | {cpu:.2f} | {gpu_time:.3f} | {cpu / gpu_time:.0f} | {gap:.1e} |",
            flush=True,
        )
    _looks(options.labels, options.components)


def _looks(labels: Sequence[int], components: int) -> None:
    """Print the seconds that the matrices of a look take: QR, Cholesky, an eigendecomposition for each of six bands."""
    print("\n| labels | components | CPU s | GPU s | CPU / GPU | largest relative difference |")
    print("|---|---|---|---|---|---|")
    torch = import_module("torch")
    rng = np.random.default_rng(1)
    for rows in labels:
        Z = rng.standard_normal((rows, components)) * np.linspace(1.0, 0.05, components)
        seconds, found = [], []
        for device in ("cpu", "cuda"):
            _look(torch, Z[:2000], device)
            began = time.perf_counter()
            found.append(_look(torch, Z, device))
            seconds.append(time.perf_counter() - began)
        gap = float(np.abs(found[0] - found[1]).max() / np.abs(found[0]).max())
        ratio = seconds[0] / seconds[1]
        print(
            f"| {rows:,} | {components:,} | {seconds[0]:.2f} | {seconds[1]:.3f} | {ratio:.1f} | {gap:.1e} |", flush=True
        )


def _look(torch: Any, Z: Any, device: str) -> Any:
    """Return the eigenvalues of bands, as ``driftpace.wide.fit`` computes them, with the rows copied there and back."""
    rows = torch.as_tensor(Z).to(device)
    rotation, triangle = torch.linalg.qr(rows)
    S = triangle @ triangle.T
    S.diagonal().add_(1.0)
    factor = torch.linalg.cholesky(S)
    whitened = torch.linalg.solve_triangular(factor, triangle, upper=False)
    left = torch.linalg.solve_triangular(factor, rotation.T, upper=False)
    values = [torch.linalg.eigvalsh(band.T @ band) for band in torch.tensor_split(whitened, 6, dim=1)]
    own = (left * left).sum(dim=0)
    return torch.cat([*values, own.max()[None]]).cpu().numpy()


if __name__ == "__main__":
    main()
