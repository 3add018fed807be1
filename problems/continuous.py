"""Problems over real variables: their protocol, and benchmark functions with partial evaluation and known optima."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.problems.base import (
    AnyProblem,
    Journal,
    WithDefaults,
    check_cardinalities,
    data_digest,
)
from gomea_bn.problems.kernels.continuous import ELLIPSOID, SQUARE, VALLEY, CirclesData, WindowsData

# largest known minimum distance of n points in the unit square; for up to 9 points it has a closed form
_CIRCLES = {
    2: 2**0.5,
    3: 6**0.5 - 2**0.5,
    4: 1.0,
    5: 0.5**0.5,
    6: 13**0.5 / 6,
    7: 4 - 2 * 3**0.5,
    8: (6**0.5 - 2**0.5) / 2,
    9: 0.5,
    10: 0.421280,
    20: 0.286612,
    30: 0.224503,
}


class RealProblem(AnyProblem):
    """A problem over real variables whose evaluation is compiled.

    Some variables may be discrete. Their values are 0 to cardinality - 1, as float64 like all others.

    The registered ``evaluate_partial`` is also called without a changed gene. It then computes the objective from the
    terms, which removes the rounding errors of many small changes.
    """

    is_real: bool = True
    lower: NDArray[np.float64]  # (n_variables,), -inf for none
    upper: NDArray[np.float64]  # (n_variables,), inf for none
    initial_range: tuple[NDArray[np.float64], NDArray[np.float64]]  # least and largest initial values
    interactions: list[tuple[int, int]] | None = None  # pairs of variables that share a term, if known
    # (n_variables,) cardinalities, 0 for real variables; None if all are real
    alphabet: NDArray[np.int64] | None = None


class _WithRealDefaults(WithDefaults, RealProblem):
    """A user's object, with the defaults of those members of `RealProblem` that it lacks."""


def with_real_defaults(problem: Any) -> RealProblem:
    """Return a real problem that has all members of `RealProblem`: the given one, or one that wraps it."""
    return problem if isinstance(problem, RealProblem) else _WithRealDefaults(problem)


def outside(problem: RealProblem, solutions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values (n, n_variables) lie outside the bounds, or are no whole numbers of a discrete variable."""
    wrong = ~((solutions >= problem.lower) & (solutions <= problem.upper))
    if problem.alphabet is not None:
        wrong |= (problem.alphabet > 0) & (solutions != np.rint(solutions))
    return np.asarray(wrong)


def new_real_journal(n_variables: int, n_terms: int, n_aux: int) -> Journal:
    """Return an empty journal over float64 genes that has room for any single step."""
    n_genes, n_scores, n_auxes = 2 * n_variables + 8, 2 * n_terms + 8, 4 * (n_variables + n_aux) + 8
    # the journal's type has int16 genes, as most problems do
    gene_values: Any = np.zeros(n_genes, np.float64)
    return Journal(
        counts=np.zeros(3, np.int64),
        genes=np.zeros(n_genes, np.int64),
        gene_values=gene_values,
        terms=np.zeros(n_scores, np.int64),
        term_values=np.zeros(n_scores, np.float64),
        aux=np.zeros(n_auxes, np.int64),
        aux_values=np.zeros(n_auxes, np.uint64),
    )


def real_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return an option as float64; raises `GomeaBnError` for text and complex numbers, which NumPy converts."""
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise GomeaBnError(f"{name} must be real numbers, got {value!r:.80}.")


def _vector(name: str, value: ArrayLike, n_variables: int) -> NDArray[np.float64]:
    numbers = real_array(name, value)
    try:
        vector = np.broadcast_to(numbers, (n_variables,)).copy()
    except ValueError:
        raise GomeaBnError(
            f"{name} must be a number or have shape ({n_variables},), got shape {np.shape(value)}."
        ) from None
    if np.isnan(vector).any():
        raise GomeaBnError(f"{name} must be a number, got NaN for variable {int(np.isnan(vector).argmax())}.")
    return vector


def _mixed_alphabet(alphabet: ArrayLike, n_variables: int) -> NDArray[np.int64]:
    """Return cardinalities (n_variables,), 0 for real; raises `GomeaBnError` if a kind of variable is missing."""
    cardinalities = np.asarray(alphabet)
    if cardinalities.shape != (n_variables,) or not np.issubdtype(cardinalities.dtype, np.integer):
        raise GomeaBnError(
            f"alphabet of a problem with bounds must be {n_variables} integers, the number of values of each variable "
            f"or 0 if it is real, got {alphabet!r}."
        )
    real = cardinalities == 0
    if real.all() or not real.any():
        kind, other = ("discrete", "alphabet") if real.all() else ("real", "bounds")
        raise GomeaBnError(f"alphabet {cardinalities.tolist()} has no {kind} variable; leave out {other}.")
    check_cardinalities(np.where(real, 1, cardinalities))
    return cardinalities.astype(np.int64)


class RealKernelProblem(RealProblem):
    """A problem over real variables that consists of its kernel data.

    Parameters
    ----------
    data : NamedTuple
        Data that the registered kernels get; see `gomea_bn.problems.base.register_problem` and `RealProblem`.
    n_variables : int
        Number of variables.
    lower, upper : float or array_like of shape (n_variables,)
        Bounds, which no solution leaves.
    initial_range : tuple of two floats or array_likes of shape (n_variables,), optional
        Range from which initial solutions are drawn uniformly; by default the bounds.
    n_terms, n_aux, n_objectives : int
        Numbers of a solution's additive terms, derived words and objectives.
    target : float, optional
        Objective value at which the problem counts as solved.
    interactions : list of tuple of int, optional
        Pairs of variables that share a term.
    alphabet : array_like of int, shape (n_variables,), optional
        Cardinalities of discrete variables, from 1 to 32,767, and 0 for real ones. `lower`, `upper` and
        `initial_range` of discrete variables are ignored.

    Raises
    ------
    GomeaBnError
        For bounds or ranges of wrong shape or order, an initial range that is infinite or outside the bounds, and an
        alphabet that cannot be used or leaves no real or no discrete variable.

    Examples
    --------
    >>> problem = RealKernelProblem(sphere(3).data, 3, lower=-5.0, upper=5.0, n_terms=3)
    >>> problem.sample(np.random.default_rng(1), 2).shape
    (2, 3)
    """

    def __init__(
        self,
        data: Any,
        n_variables: int,
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        initial_range: tuple[ArrayLike, ArrayLike] | None = None,
        n_terms: int = 0,
        n_aux: int = 0,
        n_objectives: int = 1,
        target: float | None = None,
        interactions: list[tuple[int, int]] | None = None,
        alphabet: ArrayLike | None = None,
    ) -> None:
        check_integer("n_variables", n_variables, 1)
        self.data = data
        self.n_variables = n_variables
        self.lower = _vector("lower", lower, n_variables)
        self.upper = _vector("upper", upper, n_variables)
        least, largest = (self.lower, self.upper) if initial_range is None else initial_range
        self.initial_range = (
            _vector("initial_range[0]", least, n_variables),
            _vector("initial_range[1]", largest, n_variables),
        )
        self.n_terms = n_terms
        self.n_aux = n_aux
        self.n_objectives = n_objectives
        self.target = target
        self.interactions = interactions
        if alphabet is not None:
            self.alphabet = _mixed_alphabet(alphabet, n_variables)
            discrete = self.alphabet > 0
            for lowest in (self.lower, self.initial_range[0]):
                lowest[discrete] = 0.0
            for highest in (self.upper, self.initial_range[1]):
                highest[discrete] = self.alphabet[discrete] - 1.0
        self._check_ranges()

    def _check_ranges(self) -> None:
        least, largest = self.initial_range
        for name, low, high in (("bounds", self.lower, self.upper), ("initial_range", least, largest)):
            wrong = np.flatnonzero(low > high)
            if len(wrong):
                g = int(wrong[0])
                raise GomeaBnError(
                    f"{name} of variable {g}: the lower end {low[g]} is above the upper end {high[g]}. "
                    "Were they swapped?"
                )
        wrong = np.flatnonzero(~(np.isfinite(least) & np.isfinite(largest) & np.isfinite(largest - least)))
        if len(wrong):
            raise GomeaBnError(
                f"Variable {int(wrong[0])} needs a finite initial range; give initial_range=(least, largest)."
            )
        wrong = np.flatnonzero((least < self.lower) | (largest > self.upper))
        if len(wrong):
            g = int(wrong[0])
            raise GomeaBnError(
                f"initial_range of variable {g} is [{least[g]}, {largest[g]}], "
                f"outside its bounds [{self.lower[g]}, {self.upper[g]}]."
            )

    def kernel_data(self, n_threads: int) -> list[Any]:
        """Return the data once per thread; a field ``stamps``, which is work space, is copied for each."""
        if not hasattr(self.data, "stamps"):
            return [self.data] * n_threads
        return [self.data._replace(stamps=self.data.stamps.copy()) for _ in range(n_threads)]

    def identity(self) -> dict[str, str]:
        """Return the class, the numbers, and digests of the data and ranges."""
        alphabet = () if self.alphabet is None else (self.alphabet,)
        ranges = data_digest((self.lower, self.upper, *self.initial_range, *alphabet))
        return {**super().identity(), "kernel data": data_digest(self.data), "ranges": ranges}

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return uniform solutions in the initial range, shape (n, n_variables)."""
        least, largest = self.initial_range
        solutions = least + (largest - least) * generator.random((n, self.n_variables))
        if self.alphabet is not None:
            discrete = self.alphabet > 0
            solutions[:, discrete] = generator.integers(0, self.alphabet[discrete], (n, int(discrete.sum())))
        return solutions


def _windowed(
    kind: int,
    n_variables: int,
    size: int,
    stride: int,
    options: dict[str, Any],
    rotation: NDArray[np.float64] | None = None,
) -> RealKernelProblem:
    """Return the problem of a sum over windows, far from the optimum at first unless the options say otherwise."""
    n_windows = (n_variables - size) // stride + 1
    pairs = {
        (w * stride + i, w * stride + j) for w in range(n_windows) for j in range(size) for i in range(j)
    }
    rotation = np.zeros((0, 0)) if rotation is None else rotation
    return RealKernelProblem(
        WindowsData(kind, size, stride, rotation, np.zeros(n_windows + 1, np.int64)),
        n_variables,
        n_terms=n_windows,
        interactions=sorted(pairs),
        **{"initial_range": (-115.0, -100.0), "target": 1e-10, **options},
    )


def sphere(n_variables: int, **options: Any) -> RealKernelProblem:
    """Return the problem of the sum of squares; the optimum is 0 at the origin.

    Options of `RealKernelProblem` replace the initial range from -115 to -100, the target of 1e-10 and the bounds.
    """
    return _windowed(SQUARE, n_variables, 1, 1, options)


def rosenbrock(n_variables: int, **options: Any) -> RealKernelProblem:
    """Return the problem of the sum of 100 (y - x^2)^2 + (1 - x)^2 over neighbours x, y; options as of `sphere`.

    The optimum is 0 where all variables are 1. With four variables or more there is a second local optimum near
    (-1, 1, ..., 1).
    """
    check_integer("n_variables", n_variables, 2)
    return _windowed(VALLEY, n_variables, 2, 1, options)


def _scaled_rotation(size: int, degrees: float, exponent: float) -> NDArray[np.float64]:
    """Return the product of rotations in all coordinate planes, with rows scaled by the ellipsoid's coefficients."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    rotation = np.eye(size)
    for i in range(size - 1):
        for j in range(i + 1, size):
            plane = np.eye(size)
            plane[[i, i, j, j], [i, j, i, j]] = cosine, -sine, sine, cosine
            rotation = plane @ rotation
    if size == 1:
        return rotation
    scales = 10.0 ** (exponent * np.arange(size) / (size - 1) / 2)
    return np.ascontiguousarray(scales[:, None] * rotation)


def soreb(
    n_variables: int,
    *,
    block_size: int = 5,
    stride: int | None = None,
    degrees: float = -45.0,
    exponent: float = 6.0,
    **options: Any,
) -> RealKernelProblem:
    """Return the problem of a sum of rotated ellipsoid blocks; the optimum is 0 at the origin.

    Blocks of `block_size` variables begin `stride` variables apart, by default without overlap, and must cover the
    variables exactly. The j-th coefficient of a block is 10^(exponent j / (block_size - 1)), and every coordinate plane
    is rotated by the angle `degrees`. Further options are those of `sphere`.
    """
    stride = block_size if stride is None else stride
    check_integer("block_size", block_size, 1)
    check_integer("stride", stride, 1)
    if stride > block_size or n_variables < block_size or (n_variables - block_size) % stride:
        raise GomeaBnError(
            f"Blocks of {block_size} variables, {stride} apart, do not cover {n_variables} variables exactly."
        )
    rotation = _scaled_rotation(block_size, degrees, exponent)
    return _windowed(ELLIPSOID, n_variables, block_size, stride, options, rotation)


def soreb_chain(n_variables: int, **options: Any) -> RealKernelProblem:
    """Return the problem of the sum of ((x + y)^2 + 10^6 (y - x)^2) / 2 over neighbours; the optimum is 0 at 0."""
    return soreb(n_variables, block_size=2, stride=1, **options)


def circles_in_a_square(n_points: int) -> RealKernelProblem:
    """Return the problem of minus the least distance of points x0, y0, x1, ... in the unit square.

    The target is 1e-5 above the best known value. It is known for 2 to 10, 20 and 30 points.
    """
    check_integer("n_points", n_points, 2)
    firsts = np.concatenate(([0], np.cumsum(np.arange(n_points - 1, 0, -1)))).astype(np.int64)
    n_terms = n_points * (n_points - 1) // 2
    best = _CIRCLES.get(n_points)
    return RealKernelProblem(
        CirclesData(firsts, np.zeros(n_points + 1, np.int64)),
        2 * n_points,
        lower=0.0,
        upper=1.0,
        n_terms=n_terms,
        target=None if best is None else -best + 1e-5,
    )
