"""What a closed period in bands shows beyond its risk: the audit, the certificate, and the checks of its assumptions."""

import math
from dataclasses import replace

import numpy as np

from driftpace.adaptive.audit import Measured, mean_product, with_measured_risk
from driftpace.adaptive.certificate import MARGIN, MARGIN_CURVED, mixture_quantile
from driftpace.adaptive.checks import STATUSES, Supply, counted
from driftpace.adaptive.state import AdaptiveConfig
from driftpace.records import Assumption, Verdict
from driftpace.typing import BoolArray, FloatArray
from driftpace.wide.fit import BandPosterior
from driftpace.wide.rows import WideRows
from driftpace.wide.sizing import components
from driftpace.wide.state import WideJudgement, WideState

_NOISE_ERRORS = 1.64
_WARNING, _DRIFT = 0.05, 0.001
_JUMP_WARNING, _JUMP = 0.2, 0.5
_SLOW = 10.0
_EXPLAINED = 0.3
_TAIL_ROWS = 40
_ALIKE_ROWS, _UNLIKE, _BLIND = 40, 0.4, 0.2
"""Rows that show whether a period is like the first one, and the shares of its variance along components below which it is not."""


def audit_wide(
    state: WideState,
    after: WideState,
    rows: WideRows,
    judged: WideJudgement,
    decided: WideJudgement,
    fresh: BoolArray,
    held_out: WideRows | None,
) -> tuple[WideState, Measured | None]:
    """Return the state ``after`` a period with its audit, and the excess risk that was measured; None where no rows measure it.

    Rows that no decision saw measure the model that was decided on; the fit that includes them is better by as much as its stated
    risk is smaller. Rows that are ``held_out`` measure the fit itself.
    """
    if held_out is not None:
        measured = _measured(held_out, judged)
    else:
        measured = _measured(rows.select(fresh), decided) if state.banks else None
        if measured is not None:
            measured = replace(measured, excess=measured.excess + judged.risk - decided.risk)
    if measured is None:
        return after, None
    count = 0 if held_out is None else len(held_out)
    audit = with_measured_risk(after.audit, measured, judged.risk, judged.epsilon, count)
    return replace(after, audit=audit), measured


def _measured(rows: WideRows, judged: WideJudgement) -> Measured | None:
    """Return half the mean product of the gradients of two rows in the norm of the penalised loss: its excess, without bias."""
    model, turn = judged.model.reshape(-1, rows.outputs) @ judged.turn, judged.turn
    sizes = [mixture.mean.shape[1] // rows.outputs for mixture in judged.mixtures]
    penalty = np.repeat(judged.penalty, sizes)[:, None]
    slopes = rows.slopes(rows.scores(judged.model)) @ turn
    gradients = rows.Z[:, :, None] * slopes[:, None, :] + penalty * model
    gradients /= np.sqrt(judged.bend + penalty)
    share = float(np.square(np.repeat(judged.kappa, sizes, axis=0)).mean())
    return mean_product(gradients.reshape(len(rows), model.size), judged.noise * math.sqrt(share))


def wide_certificate(config: AdaptiveConfig, state: WideState, judged: WideJudgement) -> float:
    """Return an upper confidence bound of the excess of the penalised loss, as the adaptive method has one of the loss."""
    shares, variances = components(judged)
    wider = MARGIN if judged.quadratic else MARGIN_CURVED
    spread = judged.kappa * judged.bend
    if judged.fit is not None:
        estimate = (
            state.noise.with_rows(judged.fit.sums) if state.banks else state.noise.of(judged.fit.sums)
        ).estimate()
        wider *= max((estimate.mean + _NOISE_ERRORS * estimate.error) / judged.noise_upper, 1.0)
        spread = spread * np.array([[_unevenness(posterior)] for posterior in judged.fit.posteriors])
    counts = judged.counts.sum(axis=1)
    means = (judged.counts[:, :, None] * variances).sum(axis=1) / counts[:, None]
    squares = ((judged.counts * spread)[:, :, None] * np.square(variances)).sum(axis=(1, 2)) / counts
    together = squares / np.maximum(np.square(means).sum(axis=1), 1e-300)
    return wider * mixture_quantile(counts, shares[:, 0], means, together, config.certificate_level)


def _unevenness(posterior: BandPosterior) -> float:
    """Return d tr(C^2) / tr(C)^2 of a band: 1 where every direction is known equally well."""
    size, t = posterior.mean.shape[1], posterior.held
    left: FloatArray = 1.0 / (1.0 + t * posterior.information)
    unseen = size - len(left)
    total = float(left.sum()) + unseen
    return size * (float(left @ left) + unseen) / (total * total) if t > 0.0 and total > 0.0 else 1.0


def wide_status(judged: WideJudgement) -> str:
    """Return "stable", "warning" or "drift": whether the period's rows agree with the prediction."""
    from scipy.special import gammaincc  # slow to import, and not always needed

    fit = judged.fit
    if fit is None or not judged.banks:
        return STATUSES[0]
    jump = max(float(posterior.shares[-1]) for posterior in fit.posteriors)
    chance = float(gammaincc(0.5 * fit.freedom, 0.5 * fit.surprise))
    if jump >= _JUMP or chance < _DRIFT:
        return STATUSES[2]
    return STATUSES[1] if jump >= _JUMP_WARNING or chance < _WARNING else STATUSES[0]


def wide_checks(state: WideState, rows: WideRows, judged: WideJudgement, supply: Supply) -> tuple[Assumption, ...]:
    """Return the verdicts of the period."""
    return (_spectrum(state, rows), _reference(state, judged), _tails(rows, judged), _pool(supply), _slow_drift(judged))


def unlike_first_rows(state: WideState, rows: WideRows) -> bool:
    """Whether rows have next to nothing of what the components show, so that no number of them would teach the model."""
    return _alike(state, rows) < _BLIND


def _alike(state: WideState, rows: WideRows) -> float:
    """Return the variance of rows along the components relative to that of the rows that showed them; 1 where rows are few."""
    if len(rows) < _ALIKE_ROWS or not state.banks:
        return 1.0
    weights = state.spectrum.variance
    return float(rows.Z[:, 1 if state.intercept else 0 :].var(axis=0) @ weights / weights.sum())


def _spectrum(state: WideState, rows: WideRows) -> Assumption:
    """Check whether the components were found on rows enough, and have most of the variance, of the rows of the period too."""
    spectrum, alike = state.spectrum, _alike(state, rows)
    if alike < _UNLIKE:
        sentence = (
            f"The {counted(len(rows))} of this period vary {100 * alike:.0f} % as much along the components as the first rows did: "
            "words or columns that are new are not seen. Start a tracker with a pool of rows as they are now."
        )
        verdict = Verdict.FAIL if alike < _BLIND else Verdict.WARN
        return Assumption(name="components", verdict=verdict, sentence=sentence)
    found = (
        f"{spectrum.components} components of {counted(spectrum.rows)} have {100 * spectrum.explained:.0f} % of the variance of "
        f"{spectrum.columns:,} columns"
    )
    if not spectrum.from_pool:
        sentence = (
            f"No pool was shown: {found}; unlabelled rows given to fit_pool() (init --pool) before the first order show more of "
            "them, and cost no label."
        )
        return Assumption(name="components", verdict=Verdict.WARN, sentence=sentence)
    if spectrum.explained < _EXPLAINED:
        sentence = f"Only {found}: what the others say counts as noise."
        return Assumption(name="components", verdict=Verdict.WARN, sentence=sentence)
    return Assumption(name="components", verdict=Verdict.PASS, sentence=f"{found[0].upper()}{found[1:]}.")


def _reference(state: WideState, judged: WideJudgement) -> Assumption:
    """Say what the promise is about."""
    sentence = (
        f"The promise is about the penalised loss: of {state.center.size} coordinates {judged.effective:.0f} count, as many as "
        "about a thousand rows could show."
    )
    return Assumption(name="effective coefficients", verdict=Verdict.PASS, sentence=sentence)


def _tails(rows: WideRows, judged: WideJudgement) -> Assumption:
    count = len(rows)
    if judged.fit is None or count < _TAIL_ROWS:
        sentence = f"Not checked: {counted(count)} are too few to judge tails."
        return Assumption(name="tails", verdict=Verdict.PASS, sentence=sentence, judged=False)
    share, usual = judged.fit.largest, min(4.0 * math.log(count) / count, 0.5)
    text = f"{100 * share:.0f} % of the noise in {counted(count)}"
    if share > 0.5:
        sentence = f"One outlier dominates the variance ({text}), so the noise cannot be estimated: check that row."
        return Assumption(name="tails", verdict=Verdict.FAIL, sentence=sentence)
    if share > 2.5 * usual:
        return Assumption(name="tails", verdict=Verdict.WARN, sentence=f"Tails are heavy: one row has {text}.")
    return Assumption(name="tails", verdict=Verdict.PASS, sentence=f"No outlier dominates: the largest row has {text}.")


def _pool(supply: Supply) -> Assumption:
    if supply.missing > 0 and supply.exhausted:
        missing = f"{counted(supply.missing)} {'is' if supply.missing == 1 else 'are'}"
        sentence = f"The pool of this period is exhausted, and {missing} still missing."
        return Assumption(name="pool", verdict=Verdict.FAIL, sentence=sentence)
    return Assumption(name="pool", verdict=Verdict.PASS, sentence="The pool of this period is not exhausted.")


def _slow_drift(judged: WideJudgement) -> Assumption:
    """Check whether past periods help: the predicted excess loss of the last model against the target."""
    name = "slow drift"
    if not judged.banks:
        return Assumption(name=name, verdict=Verdict.PASS, sentence="This is the first period: there is no drift yet.")
    cost = 0.5 * float(judged.counts.sum(axis=1) @ np.array([view.total for view in judged.views]))
    times = cost / judged.epsilon
    sentence = f"the predicted excess loss of the last model is {cost:.2g}, {times:.3g} times the target"
    if times > _SLOW:
        return Assumption(name=name, verdict=Verdict.WARN, sentence=f"The drift may be fast: {sentence}.")
    return Assumption(name=name, verdict=Verdict.PASS, sentence=f"The last model is a useful start: {sentence}.")
