"""Tables of one's own are run by a manifest, and what cannot be run is said."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import raw_tables


def test_a_manifest_names_files_and_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    x = rng.normal(size=360)
    y = x + 0.5 * rng.normal(size=360)
    lines = [f"{2010 + row // 60},{x[row]:.6f},{y[row]:.6f}" for row in range(360)]
    (tmp_path / "sales.csv").write_text("\n".join(["year,x,demand", *lines]))
    (tmp_path / "same.csv").write_text("\n".join(["year,x,y", *(f"{line.rpartition(',')[0]},1" for line in lines)]))
    manifest = tmp_path / "tables.csv"
    manifest.write_text("file,target\nsales.csv,demand\nsame.csv,y\ngone.csv,y\n")
    raw_tables.main(["--runs", "1", "--manifest", str(manifest)])
    printed = capsys.readouterr().out
    assert "| sales | demand | 6       | 1 |" in printed
    assert "same is left out: target 'y' is the same in every row." in printed
    assert "gone is left out: there is no file gone.csv in the folder of the manifest." in printed
