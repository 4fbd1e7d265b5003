"""Model selection: candidates tracked side by side, and cross-validation that picks one in every period."""

from driftpace.selection.candidates import Candidate, Selection, read_l2
from driftpace.selection.choice import CHOOSING, Choosing, Tally, choose
from driftpace.selection.folds import divisible, make_folds, most_folds
from driftpace.selection.leave_out import Design, Held, left_out, losses_left_out
from driftpace.selection.one_period import select_l2

__all__ = [
    "CHOOSING",
    "Candidate",
    "Choosing",
    "Design",
    "Held",
    "Selection",
    "Tally",
    "choose",
    "divisible",
    "left_out",
    "losses_left_out",
    "make_folds",
    "most_folds",
    "read_l2",
    "select_l2",
]
