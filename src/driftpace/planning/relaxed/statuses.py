"""What IPOPT may answer, each with its sentence."""

from types import MappingProxyType

STATUSES = MappingProxyType(
    {
        "Solve_Succeeded": "IPOPT found a point where no small change helps",
        "Solved_To_Acceptable_Level": "IPOPT stopped near a point where no small change helps, short of its full accuracy",
        "Feasible_Point_Found": "IPOPT found a point that keeps all rows, and no more was asked",
        "Infeasible_Problem_Detected": "IPOPT found no point that keeps all rows, though one exists",
        "Search_Direction_Becomes_Too_Small": "IPOPT got stuck: its steps became too small to change anything",
        "Diverging_Iterates": "IPOPT diverged: its numbers grew without end",
        "User_Requested_Stop": "IPOPT was stopped from outside",
        "Maximum_Iterations_Exceeded": "IPOPT was stopped at the largest number of iterations; raise max_iterations",
        "Maximum_CpuTime_Exceeded": "IPOPT was stopped at its limit of processor time",
        "Maximum_WallTime_Exceeded": "IPOPT was stopped at its limit of time",
        "Restoration_Failed": "IPOPT got stuck outside the rows and found no way back to them",
        "Error_In_Step_Computation": "IPOPT could not compute a step",
        "Not_Enough_Degrees_Of_Freedom": "IPOPT was given more equations than unknowns",
        "Invalid_Problem_Definition": "IPOPT refused the problem as badly defined",
        "Invalid_Option": "IPOPT refused one of its options; it may be too old",
        "Invalid_Number_Detected": "IPOPT met an infinite or undefined number",
        "Unrecoverable_Exception": "IPOPT failed inside and could not recover",
        "NonIpopt_Exception_Thrown": "IPOPT was interrupted by an error outside it",
        "Insufficient_Memory": "IPOPT ran out of memory",
        "Internal_Error": "IPOPT failed inside",
    }
)
"""Every name that IPOPT's return codes have, and what it means for a plan."""

CONVERGED = frozenset({"Solve_Succeeded", "Solved_To_Acceptable_Level"})
"""The names that say a local optimum was reached; what any other leaves behind is rounded all the same."""


def sentence(status: str) -> str:
    """Return what a status means.

    >>> sentence("Invalid_Number_Detected"), sentence("Brand_New_Code")
    ('IPOPT met an infinite or undefined number', "IPOPT answered 'Brand_New_Code', which is not known here")
    """
    return STATUSES.get(status, f"IPOPT answered {status!r}, which is not known here")
