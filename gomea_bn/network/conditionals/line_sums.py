"""Sums over the rows of a line, from which its coefficients and scales follow without the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError

PRECISION = 0.1
"""Precision of the normal prior of intercepts and slopes, in rows of a standard normal column."""
PRIOR_ROWS = 1.0
"""Weight of the inverse-gamma prior of the scale, in rows."""
PRIOR_VARIANCE = 0.02
"""Variance of the inverse-gamma prior."""


def scale_of(squares: NDArray[np.float64] | float, n_rows: float) -> NDArray[np.float64]:
    """Return the scale of residuals from their sum of squares."""
    return np.sqrt((np.asarray(squares) + PRIOR_ROWS * PRIOR_VARIANCE) / (n_rows + PRIOR_ROWS))


def design_of(terms: NDArray[np.float64], groups: NDArray[np.int64], n_groups: int) -> NDArray[np.float64]:
    """Return the design of a regression with equal slopes: 1, the terms, and indicators of several groups."""
    indicators = np.eye(n_groups)[groups] if n_groups > 1 else np.empty((len(terms), 0))
    return np.column_stack([np.ones(len(terms)), terms, indicators])


@dataclass(frozen=True, eq=False)
class LineSums:
    """Sums of products over the rows of a line, and what its fit has chosen by single rows.

    There is one regression with equal slopes in all groups, or one per group.

    `products` (n_regressions, n_columns + 1, n_columns + 1) are those of the columns of `design_of` and, last, of the
    column itself, on their scales, with rows of one regression for all groups divided by the ratio of their group.
    `ratios` (n_groups,) are the scales of the residuals relative to that of all groups; ones if every group has a
    regression. By regression: `n_rows`; `tails`, degrees of freedom of heavy tails, 0 where they are those of the
    estimated variance; and `widths`, factors of the scale that fit best with these tails, 1 without heavy tails.
    `least_scale` is that of the residuals.
    """

    products: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    ratios: NDArray[np.float64]
    tails: NDArray[np.float64]
    widths: NDArray[np.float64]
    least_scale: float

    @classmethod
    def of_rows(
        cls,
        z: NDArray[np.float64],
        terms: NDArray[np.float64],
        groups: NDArray[np.int64],
        ratios: NDArray[np.float64],
        tails: NDArray[np.float64],
        widths: NDArray[np.float64],
        least_scale: float,
        weights: NDArray[np.float64] | None = None,
    ) -> LineSums:
        """Return the sums over rows, which count `weights` times.

        `z` is the column on its scale, `terms` (n, n_terms) are functions of the parents, and `groups` configurations
        of the discrete parents, by row. All else is as in the class.
        """
        n_regressions, n_groups = len(tails), len(ratios)
        counts = np.ones(len(z)) if weights is None else weights
        products, n_rows = [], np.empty(n_regressions)
        for k in range(n_regressions):
            members = np.flatnonzero(groups == k) if n_regressions > 1 else np.arange(len(z))
            design = design_of(terms[members], groups[members], 1 if n_regressions > 1 else n_groups)
            columns = np.column_stack([design, z[members]])
            columns *= (np.sqrt(counts[members]) / ratios[groups[members]])[:, None]
            products.append(columns.T @ columns)
            n_rows[k] = counts[members].sum()
        return cls(np.array(products), n_rows, ratios, tails, widths, least_scale)

    def with_rows(self, old: float, rows: LineSums) -> LineSums:
        """Return the sums in which the rows so far count `old` times, with further rows."""
        return LineSums(
            old * self.products + rows.products,
            old * self.n_rows + rows.n_rows,
            self.ratios,
            self.tails,
            self.widths,
            self.least_scale,
        )

    def coefficients(self, k: int) -> tuple[NDArray[np.float64], float, float]:
        """Return coefficients of the design of one regression, and the scale and degrees of freedom of its residuals.

        These two are of Student's t distribution of a new row of a group whose ratio is 1.
        """
        products, n_rows = self.products[k], float(self.n_rows[k])
        inner, with_z = products[:-1, :-1], products[:-1, -1]
        factor = scipy.linalg.cholesky(inner + PRECISION * np.eye(len(inner)), lower=True)
        coefficients = scipy.linalg.cho_solve((factor, True), with_z)
        total = max(float(products[-1, -1] - with_z @ coefficients), 0.0)
        wider = np.sqrt(1 + len(inner) / n_rows)
        scale = float(scale_of(total, n_rows) * wider * self.widths[k])
        return coefficients, scale, float(self.tails[k]) or n_rows + PRIOR_ROWS

    def to_content(self) -> dict[str, Any]:
        """Return the sums as values that JSON can hold; of symmetric products one half is written."""
        upper = np.triu_indices(self.products.shape[1])
        return {
            "products": [of_regression[upper].tolist() for of_regression in self.products],
            "n_rows": self.n_rows.tolist(),
            "ratios": self.ratios.tolist(),
            "tails": self.tails.tolist(),
            "widths": self.widths.tolist(),
            "least_scale": self.least_scale,
        }

    @classmethod
    def from_content(cls, content: Any, n_terms: int, n_groups: int) -> LineSums:
        """Return the sums that JSON values describe; raises `GomeaBnError` for others."""
        fields = ("products", "n_rows", "ratios", "tails", "widths", "least_scale")
        if not isinstance(content, Mapping) or any(field not in content for field in fields):
            raise GomeaBnError(f"The sums of a line must be an object with the fields {', '.join(fields)}.")
        try:
            halves, *parts, least_scale = (np.array(content[field], np.float64) for field in fields)
        except (TypeError, ValueError, OverflowError) as error:
            raise GomeaBnError(f"The sums of a line must be numbers: {error}.") from error
        n_regressions = len(halves) if halves.ndim == 2 else 0
        n = 2 + n_terms + (n_groups if n_regressions == 1 and n_groups > 1 else 0)
        shapes: Sequence[tuple[int, ...]] = [
            (n_regressions,), (n_groups,), (n_regressions,), (n_regressions,),
        ]  # fmt: skip
        is_valid = (
            n_regressions in (1, n_groups)
            and halves.shape[1] == n * (n + 1) // 2
            and [part.shape for part in parts] == list(shapes)
            and least_scale.shape == ()
            and all(np.isfinite(part).all() and (part >= 0).all() for part in (*parts, least_scale))
            and bool(np.isfinite(halves).all())
            and bool((parts[1] > 0).all())
        )
        if not is_valid:
            raise GomeaBnError(
                f"The sums of a line with {n_terms} terms and {n_groups} groups must have one half of the products, "
                "a number of rows, tails and a width for one or all groups, and ratios above 0, all finite."
            )
        products = np.empty((n_regressions, n, n))
        rows, columns = np.triu_indices(n)
        products[:, rows, columns] = halves
        products[:, columns, rows] = halves
        n_rows, ratios, tails, widths = parts
        return cls(products, n_rows, ratios, tails, widths, float(least_scale))
