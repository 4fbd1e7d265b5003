"""The components of a pool on a GPU and on the CPU: the same numbers, and seconds for each."""

import argparse
import time
from collections.abc import Sequence

import numpy as np

from driftpace.wide.moments import split_moments


def main(given: Sequence[str] = ()) -> None:
    """Print seconds and the largest relative difference for pools of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=768)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
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


if __name__ == "__main__":
    main()
