"""The data of a page as a value for JSON. The page draws these data and computes little itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.columns import outcome_code
from gomea_bn.data.event_times import time_and_event
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, RowsDiffer, is_integer, is_real
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.choice import nondominated_rows
from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, TARGET, Front
from gomea_bn.lazy import offered
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.compilation import new_record
from gomea_bn.network.conditionals.conditionals import Conditionals
from gomea_bn.network.effects import known_words, shows_effects
from gomea_bn.network.formats.summary import evidence_text
from gomea_bn.network.inference.answers import states_of
from gomea_bn.network.marginals import marginal_density
from gomea_bn.network.matched_rows import LEAST_ROWS, RowSource, TableRows, counted_sets, limit_of_chance
from gomea_bn.network.recorded import (
    OF_ROWS,
    STABILITY_WORDS,
    checks_text,
    columns_of_expert_fit,
    left_out_loss,
    recorded_misfits,
    recorded_stability,
    recorded_target,
)
from gomea_bn.network.rows import rows_for
from gomea_bn.network.tables import MOST_COMPUTED_CELLS
from gomea_bn.review.drawings import Drawings, communities
from gomea_bn.review.layout import Layout, layout, line_break
from gomea_bn.review.pools import Pools, curve_entry, rounded, rounded_positions
from gomea_bn.review.question import question_data
from gomea_bn.texts import counted, listed


def rows_of_front(
    networks: Sequence[DiscretizedBayesNet], table: Table | None, landmarks: Collection[int]
) -> list[dict[str, Any] | None] | None:
    """Return what `page_rows` returns for the networks of a page; None if the rows are not known.

    Bins differ from network to network. Of more than a few networks those at the positions `landmarks` have rows alone,
    so that the page stays small.
    """
    if table is None:
        return None
    # rows of a longer front are counted for networks with a button alone
    counted = range(len(networks)) if len(networks) <= 8 else landmarks
    # numbers that all of them have
    most = 2**16 // max(len(counted), 1)
    return [
        page_rows(network, network, table, most) if position in counted else None
        for position, network in enumerate(networks)
    ]


def page_rows(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet, table: Table | None, most: int | None = None
) -> dict[str, Any] | None:
    """Return numbers of rows by the bins of the tables of a page; None if the rows are not known.

    They are those that the network knows, or else those of the table. "counts" has for every set of columns, as a text
    such as "0,3,5", the weights of rows, of which the last column varies fastest. A row of weight 1 is "evidence" like
    so many rows; fewer than "least" are not compared, nor those of columns with "gaps", by their positions. "limits"
    are the standard errors that chance exceeds in none of 1, 2, 4, ... figures. All sets together have at most as many
    numbers as `most` says, if it is given.
    """
    source: RowSource | None = network.row_source
    if source is None and table is not None:
        source = TableRows(network, rows_for(network, table), is_own=True)
    if source is None:
        return None
    names = network.names
    firsts = [_first_bins(network, tables, name) for name in names]
    counts: dict[str, list[float] | list[int]] = {}
    cards = [network.cardinality(name) for name in names]
    for members in counted_sets(network.adjacency_matrix, cards, source.n_rows, most):
        crossed = source.crossed([names[v] for v in members])
        of_members = [first for v in members if (first := firsts[v]) is not None]
        if crossed is None or len(of_members) < len(members):
            continue
        for axis, first in enumerate(of_members):
            crossed = np.add.reduceat(crossed, first, axis)
        rounded = crossed.ravel().round(2)
        whole = bool((rounded == rounded.round()).all())
        counts[",".join(map(str, members))] = rounded.astype(np.int64).tolist() if whole else rounded.tolist()
    noise = 1.0 if source.is_own else 1.0 + source.n_rows / max(network.metadata.get("n_rows", 0), 1)
    # numbers of figures with a limit, as powers of 2
    return {
        "n": source.n_rows,
        "evidence": source.evidence_of_row / noise,
        "least": LEAST_ROWS,
        "gaps": [v for v, name in enumerate(names) if source.has_gaps([name])],
        "limits": [round(limit_of_chance(2**power), 3) for power in range(18)],
        "counts": counts,
    }


def _first_bins(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet, name: str
) -> NDArray[np.int64] | None:
    """Return the first shown bin or level of each bin or level of the tables of a page; None if these cut bins."""
    if name not in network.cut_points:
        return np.arange(network.cardinality(name))
    shown, merged = network.cut_points[name], tables.cut_points[name]
    if not np.isin(merged, shown).all():
        return None
    return np.concatenate(([0], np.searchsorted(shown, merged) + 1))


# number of entries of the record on the page
_MOST_FACTS = 60
# pixels of the drawing on a screen of 1440 x 900, next to the choices and without them
_FRAME, _FRAME_ALONE = (680.0, 610.0), (900.0, 640.0)


def front_data(
    front: Front, shown: Front, ids: Sequence[int], title: str | None, *, test_graph: bool = False
) -> dict[str, Any]:
    """Return the page's data of a front, with a text above the headline and perhaps a test of the expert's graph.

    Landmarks such as the recommended network are chosen among all networks of `front`. Those of `shown`, `front` itself
    or a thinned one, have the positions `ids` in it.
    """
    networks = [candidate.network for candidate in shown]
    names = _common_names(networks, shown.expert)
    record = shown.record
    frame = shown.to_frame()
    pools = Pools(names, shown.table)
    recommendation = front.recommended()
    landmarks = _landmarks(front, recommendation.candidate.index)
    question = question_data(front, ids)
    data: dict[str, Any] = {
        "kind": "front",
        "title": title,
        "headline": _headline(len(shown), None if question is None else names[question["target"]]),
        "origin": _origin(front, shown, names) + _limit_in_words(record) + _logits_in_words(networks),
        "run_hash": front.run_hash,
        "objectives": [asdict(objective) for objective in shown.objectives],
        "values": shown.values.tolist(),
        "n_edges": frame["n_edges"].tolist(),
        "most_parents": frame["most_parents"].tolist(),
        **_kept(networks),
        # the sliders choose among these networks only
        "competing": np.isin(range(len(shown)), nondominated_rows(shown.values)).tolist(),
        "landmarks": landmarks,
        "reason": [recommendation.reason, recommendation.detail],
        "ids": [int(position) for position in ids],
        "networks": [pools.add(network) for network in networks],
        "expert": pools.add(shown.expert) if shown.expert is not None else None,
        "facts": _facts(record),
        "tested": _tested(shown.expert, shown.table, names) if test_graph else None,
        "question": question,
        "rows": rows_of_front(networks, shown.table, [ids.index(landmark["id"]) for landmark in landmarks]),
    }
    drawing = layout(names, _arc_shares(networks), _arcs(shown.expert, names) if shown.expert else None)
    data |= _shared_data(pools, networks[0], shown.table, record, drawing)
    data |= _own_drawings(names, networks, data["landmarks"], data["ids"])
    for variable in data["variables"]:
        variable["unsaid"] = _unsaid(shown.expert, variable["name"])
    return data


def _kept(networks: Sequence[DiscretizedBayesNet]) -> dict[str, list[float]]:
    """Return the numbers of parameters that networks with conditionals keep, and their losses of left-out rows."""
    losses = [loss for network in networks if (loss := left_out_loss(network)) is not None]
    if len(losses) < len(networks):
        return {}
    return {"n_parameters": [network.n_parameters for network in networks], "left_out_loss": losses}


def network_data(
    network: DiscretizedBayesNet,
    table: Table | None,
    record: Mapping[str, Any],
    title: str | None,
    *,
    test_graph: bool = False,
) -> dict[str, Any]:
    """Return the page's data of one network, which leaves nothing to choose."""
    pools = Pools(network.names, table)
    tables = network.compiled(MOST_COMPUTED_CELLS)
    target, misfits = recorded_target(network), recorded_misfits(network)
    of_variables = f"One network of {counted(len(network.names), 'variable')}"
    data: dict[str, Any] = {
        "kind": "network",
        "title": title,
        "headline": f"{of_variables}." if target is None else f"{of_variables} predicts {target}.",
        "origin": " ".join(
            filter(
                None,
                (
                    _rows_in_words(table),
                    evidence_text(network),
                    _merged_in_words(network, tables),
                    checks_text(network),
                ),
            )
        ),
        "run_hash": None,
        "objectives": [],
        "values": [[]],
        "n_edges": [len(network.edges)],
        "n_parameters": [network.n_parameters],
        "competing": [True],
        "landmarks": [],
        "ids": [0],
        "networks": [pools.add(tables)],
        "rows": [page_rows(network, tables, table)],
        "expert": None,
        "facts": _facts(record),
        "stability": recorded_stability(network),
        "known": [known_words(network, name) for name in network.names],
        "effects": [_effects(network, name) for name in network.names],
        "averaged": None
        if network.conditionals is None
        else [_average(network, network.conditionals, name) for name in network.names],
        "coarseness": _coarseness(network),
        "misfits": [misfits.get(name) for name in network.names],
        "tested": _tested(network, table, network.names) if test_graph else None,
        "question": None,
        "target": None if target is None else network.names.index(target),
    }
    data |= _shared_data(pools, network, table, record, layout(network.names, _arc_shares([network])))
    return data | _own_drawings(network.names, [network], [], [0])


def _merged_in_words(network: DiscretizedBayesNet, tables: DiscretizedBayesNet) -> str:
    """Return which bins and edges of a network the tables of its page lack, as a sentence; empty if none."""
    compiled = new_record(network, tables)
    if compiled is None:
        return ""
    edges = [f"{parent} → {child}" for parent, child in compiled["left_out"]]
    left_out = f", and without the edges {listed(edges, 8)}" if edges else ""
    return f"The page answers with merged bins of {listed(compiled['merged'], 8)}{left_out}."


def _tested(network: DiscretizedBayesNet | None, table: Table | None, names: Sequence[str]) -> dict[str, Any]:
    """Return what rows say about a graph: a sentence, notes on pairs of variables by their positions, supported edges.

    Rows that allow no test leave the sentence why.
    """
    for given, lacking in ((network, "an expert's network"), (table, "the table")):
        if given is None:
            raise GomeaBnError([Option("test_graph"), f" needs {lacking}, which is not there."])
    try:
        test = offered("test_graph")(_as_given(network, table), table)
    except GomeaBnError as error:
        return {"graph": f"The graph was not tested. {error}", "pairs": [], "supported": []}
    supported = test.present["verdict"] == "support"
    edges = test.present.loc[supported, ["parent", "child"]].to_numpy().tolist()
    return {
        "graph": test.sentence,
        "pairs": [[*map(names.index, pair), note] for pair, note in test.notes.items()],
        "supported": [list(map(names.index, edge)) for edge in edges],
    }


def _as_given(
    network: DiscretizedBayesNet | None, table: Table | None
) -> DiscretizedBayesNet | ExpertNetwork | None:
    """Return the edges and bins of an expert whose network a table with gaps completes, any other network as it is.

    A gap in a column that the expert does not mention then takes no row away from the test of his edges.
    """
    if network is None or table is None or "expert_fit" not in network.metadata or not table.n_missing:
        return network
    others, default = (columns_of_expert_fit(network, entry) for entry in ("not_mentioned", "default_bins"))
    names = [name for name in network.names if name not in others]
    cuts = {name: cuts for name, cuts in network.cut_points.items() if name in names and name not in default}
    return ExpertNetwork(names, network.edges, cut_points=cuts)


def _coarseness(network: DiscretizedBayesNet) -> dict[str, Any] | None:
    """Return by how much answers of the page, from shown tables, differ from those of `query`; None for equal ones.

    Children are asked given a bin or level of a parent: some of the edges, drawn with a fixed seed. "n" is the number
    of questions, "median" and "most" are of the largest difference of a probability in each of them.
    """
    if network.conditionals is None or not network.edges:
        return None
    generator = np.random.default_rng(0)
    # questions that compare the answers of a page with those of the network
    order = generator.permutation(len(network.edges))[:12]
    differences = []
    for parent, child in (network.edges[k] for k in order.tolist()):
        states = states_of(network, [parent])
        given = {parent: states[int(generator.integers(len(states)))]}
        try:
            with catch_warnings():
                # the page says so where its reader asks
                simplefilter("ignore", RowsDiffer)
                exact, of_page = network.query(child, given), network.query(child, given, cells="bins")
        except GomeaBnError:
            # a question that is too large, or evidence without probability
            continue
        differences.append(float(np.abs(np.asarray(exact) - np.asarray(of_page)).max()))
    if not differences:
        return None
    return {
        "n": len(differences),
        "median": round(float(np.median(differences)), 4),
        "most": round(max(differences), 4),
    }


def _average(network: DiscretizedBayesNet, conditionals: Conditionals, name: str) -> dict[str, Any] | None:
    """Return the marginal density of a variable with the number of sets of cuts and the weight of its line.

    A discrete variable has None.
    """
    if name not in network.cut_points:
        return None
    stack = conditionals.stacks[name]
    return {
        **curve_entry(marginal_density(network, name), network.support[name]),
        "copies": stack.n_sets,
        "line": stack.smooth_weight if stack.smooth else None,
        "words": stack.smooth_words,
    }


def _effects(network: DiscretizedBayesNet, name: str) -> dict[str, Any] | None:
    """Return the effects of the parents of a variable, None for one whose table is read instead.

    "outcomes" are the positions of the levels that have a line, 0 for the mean of a continuous variable. Every parent
    has its position "p", values "at", and by outcome "mean", "low" and "high"; "edges" and "rows" are bars of rows.
    """
    if not shows_effects(network, name):
        return None
    effects = network.column_effects(name)
    outcomes = list(effects.shown_outcomes)

    def by_outcome(numbers: NDArray[np.float64]) -> list[list[float]]:
        return [rounded(numbers[:, outcome], 5) for outcome in outcomes]

    parents = [
        {
            "p": network.names.index(one.parent),
            "verb": one.trend,
            "share": round(one.share, 4),
            "isShare": bool(effects.levels),
            "at": rounded(one.values, 8),
            "mean": by_outcome(one.means),
            "low": by_outcome(one.lows),
            "high": by_outcome(one.highs),
            "edges": rounded(one.edges, 8),
            "rows": rounded(one.heights, 3),
        }
        for one in effects.effects
    ]
    return {
        "outcomes": outcomes,
        "explained": round(effects.explained, 4),
        "additive": round(effects.additive, 4),
        "parents": parents,
    }


def _own_drawings(
    names: Sequence[str],
    networks: Sequence[DiscretizedBayesNet],
    landmarks: Sequence[Mapping[str, Any]],
    ids: Sequence[int],
) -> dict[str, Any]:
    """Return the drawings of the networks, and the position of each network's drawing, None for one without.

    Landmarks come first, since the time for drawings is limited.
    """
    shares = _arc_shares(networks)
    # number of columns from which on a drawing shows communities
    groups = communities(shares + shares.T) if len(names) >= 25 else []
    drawings = Drawings(names, _FRAME_ALONE if len(networks) == 1 else _FRAME, groups)
    first = [ids.index(landmark["id"]) for landmark in landmarks if landmark["id"] in ids]
    for position in first:
        drawings.add(networks[position])
    return {"drawing_of": [drawings.add(network) for network in networks], "drawings": drawings.entries}


def _shared_data(
    pools: Pools,
    example: DiscretizedBayesNet,
    table: Table | None,
    record: Mapping[str, Any],
    drawing: Layout,
) -> dict[str, Any]:
    """Return the parts of the data that do not depend on the selected network."""
    columns = {column["name"]: column for column in _columns(table, record)}
    times = None if table is None else time_and_event(table.columns)
    roles = {} if times is None else {times[0]: f"time until {times[1]}", times[1]: "event"}
    variables = []
    for name in example.names:
        column = columns.get(name, {})
        variable: dict[str, Any] = {
            "name": name,
            "break": line_break(name),
            "continuous": name in example.cut_points,
            "role": roles.get(name),
        }
        if variable["continuous"]:
            variable["histogram"] = _histogram(column)
            variable["support"] = pools.support(name)
            variable["damaged"] = "histogram" in column and variable["histogram"] is None
        else:
            variable["levels"] = [str(level) for level in example.levels[name]]
            variable["counts"] = _counts(column.get("counts"), len(variable["levels"]))
            variable["damaged"] = "counts" in column and variable["counts"] is None
            levels = example.levels[name]
            # of unknown numbers of rows the last level
            variable["outcome"] = outcome_code(levels, variable["counts"] or range(len(levels), 0, -1))
        variables.append(variable)
    return {
        "variables": variables,
        "cuts": pools.cuts,
        "curves": pools.curves,
        "ratios": pools.ratios,
        "families": pools.families,
        "layout": {
            "width": round(drawing.width, 1),
            "height": round(drawing.height, 1),
            "boxes": drawing.boxes.round(1).tolist(),
            "curves": [[i, j, curve.round(1).tolist()] for (i, j), curve in drawing.curves.items()],
        },
    }


def _columns(table: Table | None, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the summaries of the columns, computed from the rows or read from the record."""
    if table is not None:
        return column_summary(table)
    summaries = record.get("columns")
    entries = summaries if isinstance(summaries, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)]


def _histogram(column: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the histogram of a column's summary, or None if it is missing or damaged."""
    histogram = column.get("histogram")
    if not isinstance(histogram, dict) or not isinstance(histogram.get("edges"), list):
        return None
    edges = [edge for edge in map(_finite, histogram["edges"]) if edge is not None]
    counts = _counts(histogram.get("counts"), len(histogram["edges"]) - 1)
    if not counts or len(edges) < len(histogram["edges"]) or sorted(set(edges)) != edges:
        return None
    return {"edges": rounded_positions(np.array(edges), (edges[0], edges[-1])), "counts": counts}


def _counts(value: Any, length: int) -> list[int] | None:
    """Return the value if it is a list of `length` counts of rows, otherwise None."""
    if not isinstance(value, list) or len(value) != length:
        return None
    return value if all(is_integer(count) and count >= 0 for count in value) else None


def _finite(value: Any) -> float | None:
    """Return the value as a float if it is a finite number, otherwise None."""
    try:
        return float(value) if is_real(value) and isfinite(value) else None
    except OverflowError:
        # an integer beyond the range of floats
        return None


def _unsaid(expert: DiscretizedBayesNet | None, name: str) -> str | None:
    """Return what `ExpertNetwork.fitted` added for a variable, "variable" or "bins", or None if nothing.

    The page does not attribute these defaults to the expert.
    """
    if expert is None:
        return None
    for entry, missing in (("not_mentioned", "variable"), ("default_bins", "bins")):
        if name in columns_of_expert_fit(expert, entry):
            return missing
    return None


def _common_names(
    networks: Sequence[DiscretizedBayesNet], expert: DiscretizedBayesNet | None
) -> tuple[str, ...]:
    """Return the variables of the networks; raise `GomeaBnError` if networks differ in them."""
    names = networks[0].names
    for position, network in enumerate(networks):
        if network.names != names or network.levels != networks[0].levels:
            raise GomeaBnError(
                "All networks of a page must have the same variables and levels in the same order; "
                f"network {position} differs from network 0."
            )
    if expert is not None and set(expert.names) != set(names):
        different = sorted(set(names) ^ set(expert.names))
        raise GomeaBnError(
            "The expert's network must have the variables of the front; they differ in "
            f"{listed(map(repr, different), 5)}. Use ExpertNetwork.fitted(table)."
        )
    if expert is not None and expert.levels != networks[0].levels:
        raise GomeaBnError(
            "The discrete variables of the expert's network must have the front's levels in the same order. "
            "Use ExpertNetwork.fitted(table)."
        )
    return names


def _arcs(network: DiscretizedBayesNet, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return the adjacency matrix in the order of `names`, bool (n, n); [i, j] is the edge from i to j."""
    order = [network.names.index(name) for name in names]
    return network.adjacency_matrix[np.ix_(order, order)].astype(np.bool_)


def _arc_shares(networks: Sequence[DiscretizedBayesNet]) -> NDArray[np.float64]:
    """Return the share of the networks that have each arc, float64 (n, n)."""
    return np.asarray(np.mean([network.adjacency_matrix for network in networks], axis=0), np.float64)


def _landmarks(front: Front, recommended: int) -> list[dict[str, Any]]:
    """Return the networks that have a button: their keys, labels, ids, and the objectives in which they are best."""
    if len(front) == 1:
        return []
    landmarks: list[dict[str, Any]] = [
        {"key": "recommended", "label": "Recommended", "id": recommended, "objective": None}
    ]
    if (single := front.single) is not None:
        landmarks.append(
            {"key": "single", "label": "Best by score alone", "id": single.index, "objective": None}
        )
    usual = {
        EXPERT_DISTANCE.name: "Closest to mine",
        COMPLEXITY.name: "Simplest",
        MISFIT.name: "Best fit",
        TARGET.name: "Best prediction",
    }
    others = {
        objective.name: f"Least {objective.label.lower()}"
        for objective in front.objectives
        if objective.name not in usual
    }
    for name, label in (usual | others).items():
        if name in front.names:
            landmarks.append({"key": name, "label": label, "id": front.best(name).index, "objective": name})
    return landmarks


def _headline(n: int, target: str | None) -> str:
    if target is not None:
        return f"One network predicts {target}." if n == 1 else f"{n:,} networks predict {target}; pick one."
    return "One network explains your data." if n == 1 else f"{n:,} networks explain your data; pick one."


def _origin(front: Front, shown: Front, names: Sequence[str]) -> str:
    """Return the size of the data and, if only a part of the front is shown, how the part was chosen."""
    size = counted(len(names), "variable")
    if front.n_rows is not None:
        size += f", {counted(front.n_rows, 'row')}"
    if len(shown) < len(front):
        nearest = ", the closest to your network" if EXPERT_DISTANCE.name in front.names else ""
        return (
            f"{size}. Chosen from {len(front):,}: the recommended one, the best in each respect{nearest}, then those "
            "that differ most from them."
        )
    before = shown.record.get("thinned_from")
    if isinstance(before, dict) and "n_networks" in before:
        return f"{size}. Chosen from {before['n_networks']:,}: {before.get('how', 'thinned')}."
    return f"{size}."


def _limit_in_words(record: Mapping[str, Any]) -> str:
    """Return the limit of the complexity that the search had, as a sentence after a blank; empty without a limit."""
    parameters = record.get("parameters")
    limit = _finite(parameters.get("max_complexity")) if isinstance(parameters, Mapping) else None
    # the record holds 1e300 for no limit
    if limit is None or not 0 < limit < 1e15:
        return ""
    return f" Complexity was limited to {limit:,.0f} free parameters."


def _logits_in_words(networks: Sequence[DiscretizedBayesNet]) -> str:
    """Return how many networks have conditionals, and what the page makes of them, after a blank; empty if none has."""
    n = sum(network.conditionals is not None for network in networks)
    if not n:
        return ""
    whose = "network's outcome follows" if n == 1 else "networks' outcome follows"
    return (
        f" {n} {whose} a logistic regression, and answers on this page come from its table, which is coarser."
    )


def _rows_in_words(table: Table | None) -> str:
    """Return in words how many rows a network was learned from."""
    if table is None:
        return ""
    missing = f", with {counted(table.n_missing, 'missing value')}" if table.n_missing else ""
    return f"Learned from {table.n_rows:,} rows{missing}."


def _facts(record: Mapping[str, Any]) -> list[list[str]]:
    """Return the record as pairs of names and texts; nested names are joined by a dot, long lists are counted."""
    facts: list[list[str]] = []

    def visit(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                # entries of a record that other parts of the page show
                if not (prefix == "" and key in ("columns", "predictions", STABILITY_WORDS, *OF_ROWS)):
                    visit(f"{prefix} · {key}" if prefix else str(key), inner)
        elif isinstance(value, (list, tuple)):
            plain = all(item is None or isinstance(item, (str, int, float, bool)) for item in value)
            # longer lists in the record are shown by their number of values
            short = plain and len(value) <= 12
            shown = ", ".join(map(str, value)) or "none"
            facts.append([prefix, shown if short else f"{len(value):,} values"])
        elif value is not None:
            facts.append([prefix, f"{value:.6g}" if isinstance(value, float) else str(value)])

    visit("", record)
    if len(facts) > _MOST_FACTS:
        facts = [*facts[:_MOST_FACTS], ["…", f"{len(facts) - _MOST_FACTS} more entries"]]
    return facts
