"""What a dollar was worth: the United States consumer price index, year by year.

CPI-U, all items, U.S. city average, not seasonally adjusted, annual averages, 1982-84 = 100: series CUUR0000SA0 of the Bureau
of Labor Statistics (a United States government work, in the public domain).

This module needs nothing but the standard library, so that ``scripts/build_datasets.py`` can read it on its own.

>>> round(1_000 * CPI_U[1997] / CPI_U[1980])
1948
"""

_FIRST = 1960

_ANNUAL = (
    *(29.6, 29.9, 30.2, 30.6, 31.0, 31.5, 32.4, 33.4, 34.8, 36.7),  # 1960s
    *(38.8, 40.5, 41.8, 44.4, 49.3, 53.8, 56.9, 60.6, 65.2, 72.6),  # 1970s
    *(82.4, 90.9, 96.5, 99.6, 103.9, 107.6, 109.6, 113.6, 118.3, 124.0),  # 1980s
    *(130.7, 136.2, 140.3, 144.5, 148.2, 152.4, 156.9, 160.5, 163.0, 166.6),  # 1990s
    *(172.2, 177.1, 179.9, 184.0, 188.9, 195.3, 201.6, 207.342, 215.303, 214.537),  # 2000s
    *(218.056, 224.939, 229.594, 232.957, 236.736, 237.017, 240.007, 245.120, 251.107, 255.657),  # 2010s
    *(258.811, 270.970, 292.655, 304.702, 313.689),  # 2020 to 2024
)

CPI_U = dict(enumerate(_ANNUAL, start=_FIRST))
"""The index of each year from 1960 to 2024."""
