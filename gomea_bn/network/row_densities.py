"""Codes and log densities of rows under the tables of a network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import TALL_TABLE, Level, column_positions, encode_levels, numeric_values
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.tables import bin_codes, bin_widths, family_index
from gomea_bn.runtime.threads import in_threads

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.problems.cuts.shape import Shape

__all__ = ["RowDensities", "mean_log_density"]

# rows whose densities are computed together in a tall table
_ROWS_OF_PART = 1 << 16


class RowDensities:
    """Rows as codes, and their log densities; the logarithms of the tables are computed once, when they are needed.

    Parameters
    ----------
    cuts, support, levels, shapes, tables : mapping
        As of `DiscretizedBayesNet`, by variable in column order.
    table_parents : sequence of sequence of int
        Positions of the parents in the table of every variable.
    """

    __slots__ = ("_cuts", "_levels", "_logarithms", "_names", "_parents", "_shapes", "_support", "_tables")

    def __init__(
        self,
        *,
        cuts: Mapping[str, NDArray[np.float64]],
        support: Mapping[str, tuple[float, float]],
        levels: Mapping[str, tuple[Level, ...]],
        shapes: Mapping[str, Shape],
        tables: Mapping[str, NDArray[np.float64]],
        table_parents: Sequence[Sequence[int]],
    ) -> None:
        self._names = tuple(tables)
        self._cuts, self._support, self._levels, self._shapes = cuts, support, levels, shapes
        self._tables, self._parents = tables, table_parents
        self._logarithms: list[NDArray[np.float64]] | None = None

    def codes(self, frame: pd.DataFrame, of: Collection[str] | None = None) -> list[NDArray[np.int32]]:
        """Return the codes of all variables, each int32 (n_rows,); with `of` those of other variables are empty."""
        import pandas as pd

        if not isinstance(frame, pd.DataFrame):
            raise GomeaBnError(f"frame must be a pandas DataFrame, got {type(frame).__name__}.")
        chosen = dict.fromkeys(name for name in self._names if of is None or name in of)
        positions = column_positions(frame, chosen)
        codes = []
        for name in self._names:
            if name not in chosen:
                codes.append(np.empty(0, np.int32))
                continue
            column = frame.iloc[:, positions[name]]
            if name in self._cuts:
                codes.append(bin_codes(numeric_values(column, name), self._cuts[name]))
            else:
                codes.append(encode_levels(column, name, self._levels[name]))
        return codes

    def log_terms(
        self, frame: pd.DataFrame, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return ln p(variable | parents), float64 (n_rows,) by variable, in nats; with `of` of some variables."""
        if self._logarithms is None:
            self._logarithms = [self._cell_logarithms(name) for name in self._names]
        chosen = [v for v, name in enumerate(self._names) if of is None or name in of]
        codes = self.codes(frame, {self._names[member] for v in chosen for member in (v, *self._parents[v])})
        cards = [table.shape[-1] for table in self._tables.values()]
        terms = {
            self._names[v]: self._logarithms[v][family_index(codes, self._parents[v], v, cards)]
            for v in chosen
        }
        shapes = {name: shape for name, shape in self._shapes.items() if name in terms}
        positions = column_positions(frame, list(shapes))
        for name, shape in shapes.items():
            values = numeric_values(frame.iloc[:, positions[name]], name)
            terms[name] = terms[name] + shape.log_density(values)
        return terms

    def _cell_logarithms(self, name: str) -> NDArray[np.float64]:
        """Return ln(P / width), or ln(P / mass under the shape), of every cell of the flattened table of a variable."""
        with np.errstate(divide="ignore"):
            term = np.log(self._tables[name])
        if name in self._shapes:
            term = term - np.log(self._shapes[name].bin_masses(self._cuts[name]))
        elif name in self._cuts:
            term = term - np.log(bin_widths(self._cuts[name], self._support[name]))
        return term.ravel()


def mean_log_density(
    log_density: Callable[[pd.DataFrame], NDArray[np.float64]], frame: pd.DataFrame
) -> float:
    """Return the mean of a log density over rows, in nats; parts of a tall table are computed in threads."""
    n_rows = len(frame)
    if n_rows == 0:
        raise GomeaBnError("frame must have at least one row, got none.")
    if n_rows <= TALL_TABLE:
        return float(log_density(frame).mean())
    parts = range(0, n_rows, _ROWS_OF_PART)
    try:
        sums = in_threads(lambda k: log_density(frame.iloc[k : k + _ROWS_OF_PART]).sum(), parts)
    except GomeaBnError:
        # the message names rows of the whole frame
        return float(log_density(frame).mean())
    return float(np.sum(sums) / n_rows)
