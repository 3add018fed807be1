"""Answers of a network: queries, predictions, and log densities of some columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions
from gomea_bn.data.dates import source_name
from gomea_bn.data.frames import plain_frame
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    RowsDiffer,
    Setting,
    check_choice,
    check_probabilities,
    give_warning,
    mapping_in,
    names_in,
    row_list,
)
from gomea_bn.lazy import pd
from gomea_bn.network.bin_distributions import log_widths_of_points
from gomea_bn.network.conditionals.conditionals import shown_network
from gomea_bn.network.graph import reachable
from gomea_bn.network.inference.cell_engine import CellEngine
from gomea_bn.network.inference.elimination import MOST_CELLS
from gomea_bn.network.inference.engine import Engine
from gomea_bn.network.inference.evidence import EvidenceReader, holds_statements, outside_of, refuse_stated
from gomea_bn.network.inference.question import Evidence, Joint, refuse_impossible
from gomea_bn.network.inference.row_cells import RowCells
from gomea_bn.network.inference.sampler import NOTED_ERROR, Sampler
from gomea_bn.network.parts import spellings
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.rows import column_name, column_values, known_rows, level_column
from gomea_bn.texts import counted, listed


def query(
    engine: Engine, targets: str | Sequence[str], evidence: Mapping[str, object] | pd.DataFrame | None = None
) -> pd.Series[float] | pd.DataFrame:
    """Return P(targets | evidence); see `DiscretizedBayesNet.query`."""
    network = shown_network(engine.network)
    reader = EvidenceReader(engine.network)
    chosen = target_names(reader, targets)
    positions = [network.names.index(name) for name in chosen]
    states = states_of(network, chosen)
    name = f"P({', '.join(chosen)})"
    if isinstance(evidence, pd.DataFrame):
        rows = _rows_of_statements(reader, evidence, chosen)
        with offering_bins(engine, rows, positions):
            joint = engine.joint(rows, positions, in_bins=True)
        answers = _by_row(joint, evidence.index, states)
        if joint.resolution is not None:
            note_errors(answers, {", ".join(chosen): joint.resolution.errors})
        return answers
    observed = mapping_in("evidence", evidence)
    known, statements = reader.stated(observed)
    refuse_both(chosen, statements)
    reader.warn_of_outside(outside_of(statements))
    with offering_bins(engine, known, positions):
        if isinstance(engine, CellEngine):
            joint, resolution_error = engine.resolved_joint(known, positions)
        else:
            joint, resolution_error = engine.joint(known, positions, in_bins=True), None
    if joint.log_evidence[0] == -np.inf:
        refuse_stated(observed, engine.n_draws if isinstance(engine, Sampler) else None)
    answer = pd.Series(joint.tables[0], index=states, name=name)
    if joint.errors is not None:
        answer.attrs["standard_error"] = float(joint.errors.max())
    _note_cells(answer, joint)
    if resolution_error is not None and joint.resolution is not None:
        answer.attrs["resolution_error"] = resolution_error
    return answer


def predict_proba(engine: Engine, frame: pd.DataFrame, target: str, unknown: str = "missing") -> pd.DataFrame:
    """Return P(target | other cells) for every row; see `DiscretizedBayesNet.predict_proba`."""
    reader = EvidenceReader(engine.network)
    target = reader.variable(target, "target")
    evidence = other_cells(reader, frame, target, unknown)
    joint = engine.joint(evidence, [reader.names.index(target)], in_bins=True)
    answer = _by_row(joint, frame.index, states_of(shown_network(engine.network), [target]))
    if joint.resolution is not None:
        note_errors(answer, {target: joint.resolution.errors})
    return answer


def predict(
    engine: Engine, frame: pd.DataFrame, target: str, how: str | None = None, unknown: str = "missing"
) -> pd.Series[Any]:
    """Return one value of the target for every row; see `DiscretizedBayesNet.predict`."""
    check_choice("how", how, ("mean", "median", "mode"), optional=True)
    network, reader = shown_network(engine.network), EvidenceReader(engine.network)
    target = reader.variable(target, "target")
    if target in reader.levels and how not in (None, "mode"):
        raise GomeaBnError(f"how must be 'mode' or None for '{target}', which is discrete, got {how!r}.")
    answers, errors = answered(engine, other_cells(reader, frame, target, unknown), target, how)
    if target in reader.levels:
        answer = pd.Series(level_column(network, target, answers), index=frame.index, name=target)
    else:
        points = column_values(network, target, answers, is_mean=how in (None, "mean"))
        answer = pd.Series(points, index=frame.index, name=column_name(network, target))
    note_errors(answer, {target: errors})
    return answer


def answered(
    engine: Engine,
    evidence: Evidence,
    target: str,
    how: str | None,
    numbers: NDArray[np.int64] | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return one number, or code of a level, of the target for every row, and their errors; see `reduced`."""
    reader = EvidenceReader(engine.network)
    position = reader.names.index(target)
    if target in reader.levels:
        return reduced(engine, evidence, position, lambda tables: tables.argmax(axis=1), numbers=numbers)
    return reduced(
        engine,
        evidence,
        position,
        lambda tables: reader.point(target, tables, how or "mean"),
        lambda cells: cells.point(how or "mean"),
        numbers=numbers,
    )


def predict_interval(
    engine: Engine,
    frame: pd.DataFrame,
    target: str,
    quantiles: Sequence[float],
    unknown: str = "missing",
) -> pd.DataFrame:
    """Return mean, median and quantiles of a continuous target; see `DiscretizedBayesNet.predict_interval`."""
    levels = check_probabilities("quantiles", quantiles)
    reader = EvidenceReader(engine.network)
    target = reader.variable(target, "target")
    if target in reader.levels:
        raise GomeaBnError(
            f"'{target}' is discrete; intervals need a continuous target.", ["use predict_proba"]
        )
    bins = reader.bins[target]

    def reduce(tables: NDArray[np.float64]) -> NDArray[np.float64]:
        points = [reader.point(target, tables, how) for how in ("mean", "median")]
        return np.column_stack([*points, *(bins.quantiles(tables, level) for level in levels)])

    def of_cells(cells: RowCells) -> NDArray[np.float64]:
        return np.column_stack([cells.point("mean"), *map(cells.quantiles, [0.5, *levels])])

    columns = ["mean", "median", *(f"{100 * level:g}%" for level in levels)]
    evidence = other_cells(reader, frame, target, unknown)
    numbers, errors = reduced(engine, evidence, reader.names.index(target), reduce, of_cells)
    answer = pd.DataFrame(dict(zip(columns, numbers.T, strict=True)), index=frame.index)
    note_errors(answer, {target: errors})
    return answer


def log_density(
    engine: Engine,
    frame: pd.DataFrame,
    of: str | Sequence[str] | None,
    given: str | Sequence[str],
    resolution: str,
) -> NDArray[np.float64]:
    """Return ln p(observed cells of `of` | observed cells of `given`); see `DiscretizedBayesNet.log_density`."""
    network, reader = shown_network(engine.network), EvidenceReader(engine.network)
    conditions = reader.variables(names_in("given", given), "given")
    if of is None:
        chosen = [name for name in reader.names if name not in conditions]
    else:
        chosen = list(dict.fromkeys(reader.variable(name, "of") for name in names_in("of", of)))
    if both := [name for name in chosen if name in conditions]:
        raise GomeaBnError(f"'{both[0]}' is both in of and in given; remove it from one.")
    evidence, values_of = reader.frame(frame, [*chosen, *conditions])
    observed = {name: values_of[name] for name in conditions if name in values_of}
    reader.warn_of_outside(reader.outside(observed))
    has_densities = network.conditionals is not None
    if has_densities:
        # a value beyond the support has the density at its end, even if that is a point mass
        numbers = evidence.numbers()
        for name in chosen:
            if name in values_of:
                numbers[:, network.names.index(name)] = values_of[name]
    joint = engine.joint(evidence, ())
    total, variances = joint.log_evidence, _variances(joint)
    if conditions:
        condition = engine.joint(evidence.without([network.names.index(name) for name in chosen]), ())
        refuse_impossible(condition.log_evidence == -np.inf)
        total = total - condition.log_evidence
        variances = variances + _variances(condition)
    for name in chosen:
        if name in reader.bins and not has_densities:
            values, bins = values_of[name], reader.bins[name]
            rows = np.flatnonzero(~np.isnan(values))
            total[rows] += bins.log_densities(values[rows], bins.codes(values[rows]))
    if of is None and not conditions:
        complete = np.flatnonzero((evidence.codes >= 0).all(axis=1))
        total[complete] = 0.0
        for term in network.log_density_terms(plain_frame(frame).iloc[complete]).values():
            total[complete] += term
    _warn_of_errors(np.sqrt(variances))
    return total - log_widths_of_points(network, frame, resolution, chosen)


def _variances(joint: Joint) -> NDArray[np.float64]:
    """Return the variances of the log probabilities of evidence, float64 (n_rows,); 0 if they are exact."""
    if joint.log_evidence_errors is None:
        return np.zeros(len(joint.log_evidence))
    return np.square(joint.log_evidence_errors)


def note_interval(
    network: NetworkLike,
    answer: pd.Series[Any],
    target: str,
    evidence: Mapping[str, object],
    probability: float,
) -> None:
    """Note in the answer to a single question about a target the ends of intervals around its probabilities."""
    reader = EvidenceReader(network)
    name = reader.variable(target, "target")
    with catch_warnings():
        # they were given for the answer
        simplefilter("ignore", GomeaBnWarning)
        known, _ = reader.stated(evidence)
    from gomea_bn.network.inference.answer_errors import AnswerErrors, ends_of

    sureness = AnswerErrors(network, name, np.eye(network.cardinality(name)))
    errors = np.hypot(sureness.errors(known)[0], _numerical_error(answer))
    low, high = ends_of(answer.to_numpy(), errors, probability)
    answer.attrs["interval"] = {
        "probability": probability,
        "low": np.clip(low, 0.0, 1.0).tolist(),
        "high": np.clip(high, 0.0, 1.0).tolist(),
        "misfit": sureness.misfit,
    }


def _numerical_error(answer: pd.Series[Any] | pd.DataFrame) -> float:
    """Return the error of the probabilities of an answer that draws or cells leave, 0 where it is not known."""
    known = (answer.attrs.get(key, 0.0) for key in ("standard_error", "resolution_error"))
    return float(np.nanmax([0.0, *known]))


def note_rows(
    network: NetworkLike,
    answer: pd.Series[Any] | pd.DataFrame,
    targets: Sequence[str],
    evidence: Mapping[str, object],
) -> None:
    """Note in an answer to a single question what the rows say next to it, and warn if they differ beyond chance.

    A distribution over the shown bins or levels of the targets is compared itself; other answers have that of the
    target.
    """
    reader = EvidenceReader(network)
    names = [reader.variable(name, "target") for name in targets]
    n_cells = int(np.prod([network.cardinality(name) for name in names]))
    is_distribution = len(answer) == n_cells and isinstance(answer, pd.Series)
    from gomea_bn.network.inference.row_notes import row_note

    note = row_note(
        network,
        names,
        {reader.variable(name, "evidence"): value for name, value in evidence.items()},
        answer.to_numpy() if is_distribution else None,
        _numerical_error(answer),
    )
    if note is None:
        return
    answer.attrs["rows"] = note.plain()
    if note.differs:
        give_warning(note.words, RowsDiffer)


def note_rows_of_frame(
    network: NetworkLike,
    answer: pd.Series[Any] | pd.DataFrame,
    target: str,
    frame: pd.DataFrame,
    unknown: str,
) -> None:
    """Note in an answer about a single row of a frame what the rows say next to it; see `note_rows`."""
    if len(frame) != 1 or network.row_source is None or frame.columns.nlevels > 1:
        return
    reader = EvidenceReader(network)
    others = [name for name in reader.names if name != reader.variable(target, "target")]
    with catch_warnings():
        # they were given for the answer
        simplefilter("ignore", GomeaBnWarning)
        cells = known_rows(network, frame, unknown, others)
    labels = [str(label) for label in cells.columns]
    places = {name: name if name in labels else source_name(name) for name in others}
    row = {name: cells.iloc[0, labels.index(label)] for name, label in places.items() if label in labels}
    note_rows(network, answer, [target], row)


def warn_of_base_rates(network: NetworkLike, asked: Iterable[object], given: Iterable[object]) -> None:
    """Warn of targets that no path of edges joins with a given column, so that these change nothing.

    Names are as a user gave them, and unknown ones count for nothing.
    """
    names = spellings(network.names)
    targets = list(dict.fromkeys(names[name] for name in asked if isinstance(name, str) and name in names))
    known = {names[str(name)] for name in given if str(name) in names}
    neighbours: dict[str, list[str]] = {name: [] for name in network.names}
    for parent, child in network.edges:
        neighbours[parent].append(child)
        neighbours[child].append(parent)
    apart = [
        name
        for name in targets
        if known - {name} and not known & reachable(neighbours, neighbours[name]) - {name}
    ]
    if apart:
        joined = (
            "no edges" if not any(neighbours[name] for name in apart) else "no path of edges to given columns"
        )
        subject = f"{listed(map(repr, apart))} {'has' if len(apart) == 1 else 'have'}"
        give_warning(
            f"{subject} {joined} in this network: what is given changes nothing, and the answer is the distribution "
            "over all rows."
        )


def target_names(reader: EvidenceReader, targets: str | Sequence[str]) -> list[str]:
    """Return the names of the targets; raises for unknown and repeated ones, and for none."""
    chosen = [reader.variable(name, "target") for name in names_in("targets", targets)]
    if not chosen or len(set(chosen)) < len(chosen):
        raise GomeaBnError(f"targets must be one or more different variables, got {targets!r}.")
    return chosen


def states_of(network: NetworkLike, names: Sequence[str]) -> pd.Index[Any]:
    """Return the bins or levels of a variable, or the combinations of those of several variables."""
    parts: list[pd.Index[Any]] = []
    for name in names:
        if name in network.cut_points:
            low, high = network.support[name]
            breaks = [low, *network.cut_points[name].tolist(), high]
            parts.append(pd.IntervalIndex.from_breaks(breaks, closed="right", name=name))
        else:
            parts.append(pd.Index(list(network.levels[name]), name=name))
    return parts[0] if len(parts) == 1 else pd.MultiIndex.from_product(parts)


@contextmanager
def offering_bins(engine: Engine, evidence: Evidence, targets: Sequence[int]) -> Iterator[None]:
    """Add the option "cells" to the advice of a refusal if an answer over the shown bins would be small enough."""
    try:
        yield
    except GomeaBnError as error:
        if not (isinstance(engine, CellEngine) and engine.fits_bins(evidence, targets)):
            raise
        message, *advice = error.args
        raise GomeaBnError(message, [Setting("cells", "bins"), *chain(*advice)]) from error


def refuse_both(targets: Sequence[str], observed: Iterable[str]) -> None:
    """Raise for a variable that is target and evidence."""
    for name in observed:
        if name in targets:
            raise GomeaBnError(f"'{name}' is both target and evidence; remove it from one.")


def _rows_of_statements(reader: EvidenceReader, frame: pd.DataFrame, targets: Sequence[str]) -> Evidence:
    """Return the evidence of a frame whose cells may be missing, values, intervals, sets or weights."""
    frame = plain_frame(known_rows(reader.network, frame, "error"))
    positions = column_positions(frame)
    names = reader.variables(positions, "evidence")
    refuse_both(targets, names)
    columns = {
        name: frame.iloc[:, position] for name, position in zip(names, positions.values(), strict=True)
    }
    stated = {name: column.tolist() for name, column in columns.items() if holds_statements(column)}
    plain, values_of = reader.frame(frame, [name for name in names if name not in stated])
    rich, statements = reader.stated_rows(stated, len(frame))
    reader.warn_of_outside({**reader.outside(values_of), **outside_of(statements)})
    values = np.fmax(plain.numbers(), rich.numbers())
    return Evidence(
        np.maximum(plain.codes, rich.codes),
        rich.weights,
        values,
        rich.pieces,
    )


def other_cells(
    reader: EvidenceReader, frame: pd.DataFrame, target: str, unknown: str = "missing"
) -> Evidence:
    """Return the cells of all variables but the target as evidence; those of absent columns are missing."""
    others = [name for name in reader.names if name != target]
    frame = known_rows(reader.network, frame, unknown, others)
    evidence, values_of = reader.frame(frame, reader.present(frame, others))
    reader.warn_of_outside(reader.outside(values_of))
    return evidence


def reduced(
    engine: Engine,
    evidence: Evidence,
    position: int,
    reduce: Callable[[NDArray[np.float64]], NDArray[Any]],
    of_cells: Callable[[RowCells], NDArray[Any]] | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return what functions make of P(variable at a position | evidence), one item per row, and the errors of rows.

    `reduce` takes the probabilities of some rows over the bins or cells of the network of the engine, float64 (n_rows,
    cardinality). `of_cells` makes the same of the distributions of rows over cells of their own. `numbers` are those of
    the rows for messages, if not 0, 1, ... Errors are those of probabilities, float64 (n_rows,).
    """
    n_rows = len(evidence.codes)
    numbers = np.arange(n_rows) if numbers is None else numbers
    errors = np.zeros(n_rows)
    places, parts, rest = [], [], np.arange(n_rows)
    if of_cells is not None and isinstance(engine, CellEngine):
        for answer in engine.answers_of_rows(evidence, position):
            rows = answer.rows
            assert answer.cells is not None
            refuse_impossible(answer.log_evidence == -np.inf, numbers[rows])
            places.append(rows)
            parts.append(of_cells(answer.cells))
            errors[rows] = answer.errors
            rest = np.setdiff1d(rest, rows, assume_unique=True)
    # the distributions over cells of all rows may be too large for memory
    step = max(MOST_CELLS // engine.network.cardinality(engine.network.names[position]), 1)
    for start in range(0, len(rest) if parts else max(len(rest), 1), step):
        rows = rest[start : start + step]
        joint = engine.joint(evidence.take(rows), [position])
        refuse_impossible(joint.log_evidence == -np.inf, numbers[rows])
        places.append(rows)
        parts.append(reduce(joint.tables))
        if joint.resolution is not None:
            errors[rows] = joint.resolution.errors
    return np.concatenate(parts)[np.argsort(np.concatenate(places))], errors


def _by_row(joint: Joint, index: pd.Index[Any], states: pd.Index[Any]) -> pd.DataFrame:
    """Return answers as a frame with one row per question."""
    refuse_impossible(joint.log_evidence == -np.inf)
    result = pd.DataFrame(joint.tables, index=index, columns=states)
    if joint.errors is not None:
        result.attrs["standard_error"] = joint.errors.max(axis=1).tolist()
    _note_cells(result, joint)
    return result


def _note_cells(answer: pd.Series[float] | pd.DataFrame, joint: Joint) -> None:
    """Note in an answer how many cells of an unknown continuous variable it was summed over."""
    if joint.resolution is not None:
        answer.attrs["cells"] = joint.resolution.n_cells


def note_errors(answer: pd.Series[Any] | pd.DataFrame, errors: Mapping[str, NDArray[np.float64]]) -> None:
    """Note in an answer the largest error of the probabilities behind it, and which rows fall short.

    `errors` (n_rows,) are by target. An answer that falls short has a warning.
    """
    largest = max((float(np.max(of_rows, initial=0.0)) for of_rows in errors.values()), default=0.0)
    if largest == 0.0:
        return
    answer.attrs["resolution_error"] = largest
    # error of the probabilities of a row above which its answer falls short
    short = {name: np.flatnonzero(of_rows > 0.05) for name, of_rows in errors.items()}
    short = {name: rows for name, rows in short.items() if len(rows)}
    if short:
        rows = np.unique(np.concatenate(list(short.values())))
        answer.attrs["coarse_rows"] = rows.tolist()
        give_warning(
            f"Answers about {listed(map(repr, short), 5)} are coarse in {counted(len(rows), 'row')} with unknown cells "
            f"that almost determine each other ({row_list(rows)}): their probabilities may be off by up to "
            f"{min(largest, 1.0):.2g}. Give more cells of these rows, or ask query for single rows."
        )


def _warn_of_errors(errors: NDArray[np.float64]) -> None:
    """Warn of estimated log densities with a large standard error."""
    if errors.size and errors.max() > NOTED_ERROR:
        give_warning(
            f"Log densities are estimates with standard errors of up to {errors.max():.2g} nats (row "
            f"{int(errors.argmax())}, counted from 0); more draws make them smaller."
        )
