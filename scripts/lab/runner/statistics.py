"""Numbers of a report: summaries of repetitions, rank tests of algorithms, and verdicts on published values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

REPRODUCED, BEATEN, NOT_REPRODUCED, NOT_RUN = "reproduced", "beaten", "not reproduced", "not run"
EVEN, BEHIND = "even", "behind"
"""Verdicts on another method than the published one, which cannot reproduce its number."""
UNDECIDED = "undecided"
"""Verdict if the repetitions are too few."""
WIDEST = 4.0
"""Largest interval, in tolerances to either side, that decides about a published number without a deviation."""


@dataclass(frozen=True)
class Summary:
    """Summary of the repetitions of one setting: `low` and `high` are the quartiles, by linear interpolation.

    The standard deviation has n - 1 in its denominator, and is nan for one value.
    """

    n: int
    mean: float
    sd: float
    median: float
    low: float
    high: float

    @property
    def spread(self) -> str:
        """Mean ± standard deviation as text."""
        return number(self.mean) + ("" if math.isnan(self.sd) else f" ± {number(self.sd)}")

    @property
    def quartiles(self) -> str:
        """The interquartile range as text."""
        return f"{number(self.low)} to {number(self.high)}"


def summarise(values: Sequence[float]) -> Summary:
    """Return the summary of at least one value."""
    sample = np.asarray(values, np.float64)
    low, median, high = np.quantile(sample, [0.25, 0.5, 0.75])
    sd = float(sample.std(ddof=1)) if len(sample) > 1 else math.nan
    return Summary(len(sample), float(sample.mean()), sd, float(median), float(low), float(high))


@dataclass(frozen=True)
class Comparison:
    """The Mann-Whitney U test of two samples.

    `u` is that of the first sample, and `share` is it over the number of pairs, ties counted half. The two-sided
    p-value is multiplied by the Bonferroni factor, at most 1; `least` is the smallest that samples of these sizes can
    have.
    """

    u: float
    p_value: float
    share: float
    least: float

    @property
    def equal(self) -> bool | None:
        """Whether the samples are equal at .05; None if the values are too few for a test."""
        return None if self.least >= 0.05 else self.p_value >= 0.05


def compare_samples(first: Sequence[float], second: Sequence[float], factor: int = 1) -> Comparison:
    """Return the Mann-Whitney U test of two samples, its p-value multiplied by Bonferroni's number of tests."""
    from scipy.stats import mannwhitneyu

    test = mannwhitneyu(first, second, alternative="two-sided")
    u, n_pairs = float(test.statistic), len(first) * len(second)
    least = 2.0 / math.comb(len(first) + len(second), len(first))
    return Comparison(u, min(1.0, factor * float(test.pvalue)), u / n_pairs, min(1.0, factor * least))


def is_lower(first: Mapping[int, float], second: Mapping[int, float], factor: int = 1) -> bool | None:
    """Return whether the first of paired samples is lower by Wilcoxon's signed ranks; None if they do not differ.

    Values are by repetition; those that only one sample has are left out. `factor` is that of Bonferroni.
    """
    from scipy.stats import wilcoxon

    differences = np.array([value - second[net] for net, value in first.items() if net in second])
    if not differences.any():
        return None
    p_value = factor * float(wilcoxon(differences).pvalue)
    return None if p_value >= 0.05 else bool(np.median(differences[differences != 0]) < 0)


def is_even(first: Mapping[int, float], second: Mapping[int, float], factor: int = 1) -> bool | None:
    """Return whether paired samples are equal by `is_lower`; None if they are too few for a test."""
    n_pairs = len(first.keys() & second.keys())
    return None if factor * 2.0 ** (1 - n_pairs) >= 0.05 else is_lower(first, second, factor) is None


@dataclass(frozen=True)
class Claim:
    """A published number, and our measurements of it; none if it was not run.

    `better` is the side on which ours beats it, "lower" or "higher", or "equal" if it can only be met. `paper_sd` is
    the standard deviation over `paper_n` published repetitions. `tolerance` is the largest difference that is ignored,
    such as half of the last printed digit. `same` says whether ours is the published method, and not another one that
    is compared with it. `reason` says why a number is not reproduced, if it is known.
    """

    quantity: str
    setting: str
    paper: float
    ours: tuple[float, ...]
    better: str = "lower"
    paper_sd: float | None = None
    paper_n: int = 1
    tolerance: float = 0.005
    same: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Finding:
    """A published finding without a number, and ours; "-" if there are none.

    `holds` says whether ours agrees, None if it was not run or if the runs are too few; if it does not, `better` says
    whether ours is better, and `reason` why. If it is not `same`, it is our own comparison: `holds` says whether ours
    is better, and `even` whether all values are equal.
    """

    quantity: str
    setting: str
    paper: str
    ours: str
    holds: bool | None
    better: bool = False
    reason: str = ""
    same: bool = True
    even: bool = False


def verdict(claim: Claim | Finding) -> tuple[str, str]:
    """Return the verdict on ours against the published number, and the reason.

    The verdict on the published method is "reproduced", "beaten", "not reproduced" or "not run", on another one
    "beaten", "even" or "behind". The difference of means counts if it exceeds the tolerance and Welch's 95 % interval
    excludes 0. If the interval contains 0, but is wider to either side than the published deviation (without one,
    than four tolerances), the number is "undecided". A single value of ours gets the published deviation. Without one
    it is taken as exact, and so is a published number.
    """
    if isinstance(claim, Finding):
        judgement, reason = _verdict_on_finding(claim), ""
    elif not claim.ours:
        return NOT_RUN, "no row of this setting"
    else:
        judgement, reason = _verdict_on_number(claim)
    if judgement in (NOT_REPRODUCED, BEHIND) and claim.reason:
        reason = f"{reason}: {claim.reason}" if reason else claim.reason
    return judgement, reason


def _verdict_on_finding(finding: Finding) -> str:
    if finding.better:
        return BEATEN
    if finding.even:
        return EVEN
    if finding.holds is None:
        return NOT_RUN if finding.ours == "-" else UNDECIDED
    if not finding.same:
        return BEATEN if finding.holds else BEHIND
    return REPRODUCED if finding.holds else NOT_REPRODUCED


def _verdict_on_number(claim: Claim) -> tuple[str, str]:
    ours = summarise(claim.ours)
    parts = [(ours.sd**2 / ours.n, ours.n - 1)] if ours.n > 1 else []
    if claim.paper_sd is not None and claim.paper_n > 1:
        parts.append((claim.paper_sd**2 / claim.paper_n, claim.paper_n - 1))
        if ours.n == 1:
            parts.append((claim.paper_sd**2, claim.paper_n - 1))
    squared, difference = sum(part for part, _ in parts), ours.mean - claim.paper
    error, margin = math.sqrt(squared), 0.0
    if squared > 0:
        margin = error * _critical(squared**2 / sum(part**2 / freedom for part, freedom in parts))
    distance = f"{number(abs(difference))} {'above' if difference > 0 else 'below'}"
    if error:
        distance += f", {number(abs(difference) / error)} standard errors"
    if abs(difference) <= max(claim.tolerance, margin):
        distance = distance if abs(difference) > claim.tolerance else "the same within the tolerance"
        if margin > max(claim.paper_sd or WIDEST * claim.tolerance, claim.tolerance):
            return UNDECIDED, f"{distance}; an interval of {number(margin)} to either side"
        return (REPRODUCED if claim.same else EVEN), distance
    if claim.better == ("lower" if difference < 0 else "higher"):
        return BEATEN, distance
    return (NOT_REPRODUCED if claim.same else BEHIND), distance


def _critical(freedom: float) -> float:
    """Return the two-sided 95 % quantile of Student's t."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))


def number(value: float) -> str:
    """Return a number with three digits, with two decimals from 10 on."""
    if not math.isfinite(value):
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.3g}"
