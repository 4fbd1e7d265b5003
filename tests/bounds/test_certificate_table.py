import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import SecondMoment, average_certificate
from driftpace.bounds.certificate import CertificateNumbers, CertificateTable


@settings(max_examples=40, deadline=None)
@given(
    m=st.floats(0.05, 5.0),
    A=st.floats(0.0, 10.0),
    b=st.floats(0.0, 20.0),
    c=st.floats(0.0, 20.0),
    extra=st.floats(1.0, 50.0),
)
def test_the_sums_are_those_of_the_certificate(m: float, A: float, b: float, c: float, extra: float) -> None:
    moment = SecondMoment(A=A, B=b * m**2, C=c * m)
    shift = max(1.0, 4.0 * (b + c)) * extra
    sums = CertificateTable(CertificateNumbers(m=m, A=A, B=moment.B, C=moment.C, shift=shift))
    t = np.arange(1.0, 1_501.0) + shift
    alpha, beta = average_certificate(2.0 / (m * t), t - 1.0, m=m, moment=moment)
    total = np.cumsum(t - 1.0)
    for K in (1, 2, 255, 256, 257, 1_500, 700, 3):  # across checkpoints, and back
        P, Q = sums.at(K)
        assert alpha[K - 1] * total[K - 1] == pytest.approx(P, rel=1e-7, abs=1e-12)
        assert beta[K - 1] * total[K - 1] == pytest.approx(Q, rel=1e-7, abs=1e-12)


def test_memory_stays_small() -> None:
    sums = CertificateTable(CertificateNumbers(m=1.0, A=1.0, B=4.0, C=0.0, shift=16.0))
    sums.at(3_000_000)
    assert sums.nbytes < 1_000_000
