"""Filling the missing cells of a frame, and drawing rows given evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import EMPTY_LEVEL, Level, column_positions
from gomea_bn.data.content_order import row_order
from gomea_bn.data.dates import in_time_zone, source_name
from gomea_bn.data.frames import as_stored, plain
from gomea_bn.data.number_texts import CODE
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, check_choice
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.conditionals import shown_network
from gomea_bn.network.inference.answers import answered, note_errors
from gomea_bn.network.inference.cell_engine import CellEngine
from gomea_bn.network.inference.elimination import ExactEngine
from gomea_bn.network.inference.engine import Engine, Seed, engine_for
from gomea_bn.network.inference.evidence import EvidenceReader, outside_of, refuse_stated
from gomea_bn.network.inference.kernels import FREE
from gomea_bn.network.inference.most_probable import with_best_states
from gomea_bn.network.inference.question import Evidence, Pieces, refuse_impossible
from gomea_bn.network.inference.sampler import Sampler
from gomea_bn.network.parts import ValueKind, random_generator
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.rows import (
    column_name,
    column_values,
    drawn_column,
    drawn_values,
    read_rows,
    whole_numbers,
)
from gomea_bn.runtime.fit_clock import never

_WAYS = ("draw", "mode", "mean", "joint")
# rows whose distributions are in memory at the same time, and numbers of these distributions
_BLOCK = 2**15


def impute(
    engine: Engine,
    frame: pd.DataFrame,
    how: str,
    generator: np.random.Generator,
    unknown: str = "missing",
    is_late: Callable[[], bool] = never,
) -> pd.DataFrame:
    """Return the frame with its missing cells filled; see `DiscretizedBayesNet.impute`."""
    check_choice("how", how, _WAYS)
    if how == "joint" and isinstance(engine, Sampler):
        raise GomeaBnError(
            [Option("how", "joint"), " needs ", Option("method", "exact"), ", got 'sampling'."]
        )
    network = shown_network(engine.network)
    reader = EvidenceReader(engine.network)
    original = frame
    frame, unknown_levels = read_rows(network, frame, unknown)
    observed, observed_values = reader.frame(frame, network.names)
    reader.warn_of_outside(reader.outside(observed_values))
    is_missing = observed.codes < 0
    incomplete = np.flatnonzero(is_missing.any(axis=1))
    codes, values = observed.codes.copy(), {name: given.copy() for name, given in observed_values.items()}
    n_cells = sum(engine.network.cardinality(name) for name in network.names)
    errors = {name: np.zeros(len(frame)) for name in network.names}
    step = _BLOCK if how == "draw" else min(_BLOCK, max(2**25 // n_cells, 1))
    for start in range(0, len(incomplete), step):
        rows = incomplete[start : start + step]
        evidence = observed.take(rows)
        if how == "draw":
            several, numbers = _draws(engine, evidence, 1, generator, is_late)
            drawn = several[:, 0]
            refuse_impossible(drawn[:, 0] == -1, rows)
            block = _numbers_of_draws(network, reader, evidence, drawn, numbers[:, 0], generator)
            codes[rows] = drawn
        elif how != "joint" and isinstance(engine, CellEngine):
            block = {}
            for v, name in enumerate(network.names):
                gaps = np.flatnonzero(evidence.codes[:, v] < 0)
                answers, errors[name][rows[gaps]] = answered(
                    engine, evidence.take(gaps), name, how, rows[gaps]
                )
                if name in reader.levels:
                    codes[rows[gaps], v] = answers
                else:
                    block[name] = np.full(len(rows), np.nan)
                    block[name][gaps] = answers
        else:
            if how == "joint":
                assert isinstance(engine, (CellEngine, ExactEngine))
                evidence = with_best_states(engine, reader, evidence)
            marginals = engine.marginals(evidence)
            refuse_impossible(np.isnan(marginals[0][:, 0]), rows)
            codes[rows] = np.column_stack([table.argmax(axis=1) for table in marginals])
            block = {name: reader.point(name, marginals[v], how) for v, name, _ in reader.continuous}
        for name, filled in block.items():
            values[name][rows] = np.where(np.isnan(values[name][rows]), filled, values[name][rows])
    result = frame.copy()
    places = column_positions(frame, network.names)
    for v, name in enumerate(network.names):
        column = plain(frame.iloc[:, places[name]])
        if network.levels.get(name) == (EMPTY_LEVEL,):
            # missing cells are read as the only level
            is_missing[:, v] = column.isna().to_numpy(dtype=bool)
        if is_missing[:, v].any():
            if name in values:
                filled_column = _with_numbers(network, name, column, values[name], how)
            else:
                filled_column = _with_levels(column, reader.levels[name], codes[:, v], is_missing[:, v])
            dtype: Any = frame.dtypes.iloc[places[name]]
            recorded = network.value_kinds.get(name, ValueKind()).dtype
            # integers next to gaps are floats of pandas
            is_integer = bool(recorded) and dtype == np.float64 and pd.api.types.is_integer_dtype(recorded)
            if is_integer or _has_own_storage(dtype):
                filled_column = as_stored(filled_column, recorded if is_integer else dtype)
            # a column with other labels of rows would be set by these, and one without would lose its type of object
            if isinstance(filled_column, pd.Series):
                filled_column = filled_column.set_axis(frame.index)
            result.isetitem(places[name], filled_column)
        if name in unknown_levels:
            before, after = (of.iloc[:, places[name]] for of in (original, result))
            result.isetitem(places[name], _with_cells(after, before, unknown_levels[name]))
    note_errors(result, errors)
    return result


def _with_cells(filled: pd.Series[Any], original: pd.Series[Any], chosen: NDArray[np.bool_]) -> Any:
    """Return a filled column with some cells as they were, of the storage of the original where it can hold them."""
    values = filled.astype(object).to_numpy(copy=True)
    values[chosen] = original.astype(object).to_numpy()[chosen]
    result = pd.Series(values, index=original.index, name=original.name, dtype=object)
    try:
        return result.astype(original.dtype)
    except (TypeError, ValueError):
        return result


def completed_table(
    network: NetworkLike,
    table: Table,
    generator: np.random.Generator,
    is_late: Callable[[], bool] = never,
) -> Table:
    """Return a table with draws in its missing cells, or the table itself if it has none.

    The cells of a row are drawn jointly, given its observed values. Draws are exact where exact inference has room,
    otherwise by weighted sampling. Rows whose densities need draws of their own have those of cells once it is late.
    The columns of the table may be in any order.
    """
    if not table.n_missing:
        return table
    # draws of a row must not depend on where it stands
    frame = table.to_frame().iloc[row_order([column.values for column in table.columns])]
    try:
        filled = impute(engine_for(network), frame, "draw", generator, is_late=is_late)
    except GomeaBnError:
        # the graph has too many paths for exact inference
        sampler = engine_for(network, "sampling", random_state=generator)
        filled = impute(sampler, frame, "draw", generator)
    filled = filled.sort_index()
    columns = []
    for column in table.columns:
        of_name = filled[column.name]
        is_number = column.levels is None
        values = of_name.to_numpy(np.float64) if is_number else of_name.cat.codes.to_numpy(np.int32)
        values.flags.writeable = False
        columns.append(replace(column, values=values))
    return replace(table, columns=tuple(columns))


def sample_given(
    network: NetworkLike,
    n: int,
    evidence: Mapping[str, object],
    *,
    random_state: Seed = None,
    values: str = "own",
) -> pd.DataFrame:
    """Return rows drawn from P(all variables | evidence); see `DiscretizedBayesNet.sample`."""
    generator = random_generator(random_state)
    engine = engine_for(network, random_state=generator, is_single=True)
    reader = EvidenceReader(engine.network)
    known, statements = reader.stated(dict(evidence))
    reader.warn_of_outside(outside_of(statements))
    several, of_several = _draws(engine, known, n, generator)
    codes, numbers = several[0], of_several[0]
    if (codes == -1).any():
        refuse_stated(evidence, None)
    given = {name: row for name, (row,) in statements.items()}
    exact = {name: row.value for name, row in given.items() if row.value is not None}
    pieces = {name: row.pieces for name, row in given.items() if row.pieces is not None}
    drawn = _numbers_of_draws(network, reader, known, codes, numbers, generator, exact, pieces)
    columns: dict[str, Any] = {}
    for v, name in enumerate(network.names):
        label = column_name(network, name, values)
        if name in reader.levels:
            columns[label] = drawn_column(network, name, codes[:, v], values)
        elif name in exact:
            # what a user states is not rounded
            numbers, is_whole = np.full(n, exact[name]), exact[name].is_integer()
            columns[label] = drawn_column(network, name, numbers, values, is_mean=not is_whole)
        else:
            columns[label] = drawn_column(network, name, drawn[name], values)
    return pd.DataFrame(columns)


def _draws(
    engine: Engine,
    evidence: Evidence,
    n_draws: int,
    generator: np.random.Generator,
    is_late: Callable[[], bool] = never,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return draws of all variables, and the numbers that were drawn with them, NaN without; (n_rows, n_draws, V)."""
    if isinstance(engine, CellEngine):
        return engine.draws_with_numbers(evidence, n_draws, generator, is_late)
    codes = engine.draws(evidence, n_draws, generator)
    return codes, np.full(codes.shape, np.nan)


def _numbers_of_draws(
    network: NetworkLike,
    reader: EvidenceReader,
    evidence: Evidence,
    codes: NDArray[np.int32],
    with_codes: NDArray[np.float64],
    generator: np.random.Generator,
    stated: Collection[str] = (),
    pieces: Mapping[str, Pieces] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return numbers of continuous variables for draws of codes, int32 (n, n_variables), float64 (n,) by variable.

    Variables with the code FREE are drawn from their densities given their parents; discrete ones get their codes.
    `with_codes` (n, n_variables) are numbers that were drawn with the codes, NaN where they are drawn inside cells.
    `evidence` has as many rows as there are draws, or one. Without densities the `stated` variables get no numbers.
    """
    n = len(codes)
    numbers = {}
    for v, name, bins in reader.continuous:
        if name not in stated:
            shares, inside = generator.random(n), np.maximum(codes[:, v], 0)
            if pieces and name in pieces:
                shares = _shares_in_pieces(pieces[name], inside, shares, generator)
            numbers[name] = bins.values(inside, shares)
    if network.conditionals is None:
        return numbers
    given: dict[str, NDArray[Any]] = {}
    for v, name in enumerate(network.names):
        given[name] = codes[:, v]
        if name not in reader.levels:
            known = np.broadcast_to(evidence.numbers()[:, v], n)
            in_cells = np.where(codes[:, v] == FREE, np.nan, numbers.get(name, np.nan))
            in_cells = np.where(np.isnan(with_codes[:, v]), in_cells, with_codes[:, v])
            given[name] = np.where(np.isnan(known), in_cells, known)
    drawn = drawn_values(network, n, generator, given)
    for v, name in enumerate(network.names):
        if name in reader.levels:
            codes[:, v] = drawn[name]
    return {name: drawn[name] for name in network.cut_points}


def _shares_in_pieces(
    pieces: Pieces, codes: NDArray[np.int32], shares: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return shares of bins that lie in intervals, float64 (n,), from shares of these intervals."""
    cumulated = np.cumsum((pieces.weights * pieces.shares)[:, codes], axis=0)
    drawn = (generator.random(len(codes)) * cumulated[-1] >= cumulated).sum(axis=0)
    drawn = np.minimum(drawn, len(pieces.weights) - 1)
    return np.asarray(pieces.starts[drawn, codes] + shares * pieces.shares[drawn, codes], np.float64)


def _with_numbers(
    network: NetworkLike, name: str, column: pd.Series[Any], numbers: NDArray[np.float64], how: str
) -> Any:
    """Return a continuous column with numbers in its missing cells, of the kind of the column.

    Integers stay integers unless means fill them. A column of dates stays one; text of dates becomes dates.
    """
    is_missing = column.isna().to_numpy(dtype=bool)
    if source_name(name) == name and network.value_kinds.get(name, ValueKind()).is_integer and how != "mean":
        observed = numbers[~is_missing]
        filled = numbers.copy()
        filled[is_missing] = column_values(network, name, numbers[is_missing])
        if not (observed == np.floor(observed)).all():
            return filled
        whole = whole_numbers(filled)
        stored = column[~is_missing].infer_objects()
        if whole.dtype == np.int64 and pd.api.types.is_signed_integer_dtype(stored.dtype):
            # beyond 2**53 the network's numbers are rounded
            whole[~is_missing] = stored.to_numpy(np.int64)
        return whole
    if source_name(name) == name or str(column.name) == name:
        return numbers
    filled_cells = column_values(network, name, numbers[is_missing], is_mean=how == "mean")
    types = pd.api.types
    if types.is_datetime64_any_dtype(column.dtype):
        filled_cells = in_time_zone(filled_cells, column.dt.tz)
    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        result = column.copy()
        result[is_missing] = pd.Series(filled_cells).dt.as_unit(column.dt.unit).array
        return result
    result = pd.Series(column_values(network, name, numbers, is_mean=True), column.index, name=column.name)
    result[is_missing] = filled_cells
    return result


def _has_own_storage(dtype: Any) -> bool:
    """Return whether a type has gaps or fewer digits by design: nullable types of pandas and Arrow, short floats."""
    if isinstance(dtype, np.dtype):
        return dtype.kind == "f" and dtype.itemsize < 8
    return isinstance(dtype, pd.ArrowDtype) or pd.api.types.is_numeric_dtype(dtype)


def _with_levels(
    column: pd.Series[Any], levels: tuple[Level, ...], codes: NDArray[np.int32], is_missing: NDArray[np.bool_]
) -> pd.Series[Any]:
    """Return a discrete column with levels in its missing cells, stored as before where that is possible.

    All cells hold levels where the column's storage cannot hold them, or would lose the zeros of codes such as 02163.
    """
    values = column.astype(object).to_numpy(copy=True)
    of_codes = np.array(levels, dtype=object)[codes]
    values[is_missing] = of_codes[is_missing]
    filled = pd.Series(values, index=column.index, name=column.name, dtype=object)
    as_levels = pd.Series(of_codes, index=column.index, name=column.name, dtype=object)
    has_codes = any(isinstance(level, str) and re.fullmatch(CODE, level) for level in levels)
    if has_codes and not all(isinstance(value, str) for value in values):
        return as_levels
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
        new = [level for level in levels if level not in categories]
        wider = pd.CategoricalDtype([*categories, *new], ordered=bool(column.cat.ordered))
        return filled.astype(wider)
    try:
        return filled.astype(column.dtype)
    except (TypeError, ValueError):
        return as_levels
