"""The four studies beyond the paper, run together and reported one after the other."""

from collections.abc import Sequence
from typing import Any

from paper.beyond import bounded, given, overshoot, rules
from paper.beyond.study import Part, run_job
from paper.records import Finding
from paper.runs import RunSettings, map_runs

STUDIES: tuple[Any, ...] = (bounded, rules, given, overshoot)
"""Each has ``jobs(asked)``, the runs, and ``summarise(found)``, its part of the finding."""


def find(asked: RunSettings) -> Finding:
    """Return what lies beyond the paper's own experiments."""
    jobs = [study.jobs(asked) for study in STUDIES]
    answers = iter(map_runs(asked, run_job, [job for part in jobs for job in part], "beyond the paper: runs"))
    parts = [study.summarise({job: next(answers) for job in part}) for study, part in zip(STUDIES, jobs, strict=True)]
    return _together(asked, parts)


def _together(asked: RunSettings, parts: Sequence[Part]) -> Finding:
    return Finding(
        name="beyond",
        title="Beyond the paper",
        question=(
            "What does the paper prove or propose without testing it? Changes that are bounded instead of constant; past bounds "
            "updated or not; constants estimated instead of known; and how far the drift estimate overshoots as the target shrinks."
        ),
        answer=" ".join(part.sentence for part in parts),
        runs=asked.runs,
        seed=asked.seed,
        figures=tuple(figure for part in parts for figure in part.figures),
        comparisons=tuple(comparison for part in parts for comparison in part.comparisons),
        constants=tuple(constant for part in parts for constant in part.constants),
        sensitivity=tuple(table for part in parts for table in part.sensitivity),
        claims=tuple(claim for part in parts for claim in part.claims),
        notes=(
            "The paper has no figures for these; the column of the paper states its theorems.",
            "+- is the standard error over runs. A claim about a difference holds when it is more than three standard errors.",
            *(note for part in parts for note in part.notes),
        ),
    )
