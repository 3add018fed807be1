"""The commands `predict`, `impute`, `query` and `explain`: answers of a saved network."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import Network, Statements, files_of, loaded_network, named_column
from gomea_bn.cli.option_texts import fields_of
from gomea_bn.cli.options import AsJson, Data, Unknown, reads_table
from gomea_bn.cli.output import (
    PICTURES,
    UNUSABLE_DATA,
    WRONG_USE,
    check_output,
    deliver_frame,
    fail,
    failing,
    say,
    write_figure,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import answering, key_columns, loaded_for_network, loaded_rows
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, RowsDiffer, nearest
from gomea_bn.texts import counted, listed, percent

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gomea_bn.data.files.reading import Loaded
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.explanations import Explanation

SavedNetwork = Annotated[
    str,
    typer.Argument(
        metavar="NETWORK",
        help="File of a network (.json, .bif, .xdsl, ...), folder of a run, or FOLDER#ID of a front.",
    ),
]
Out = Annotated[
    Path | None, opt("File to write: .csv or .parquet. Default: CSV on standard output.", "--out", "-o")
]
Method = Annotated[
    str, opt("exact, or sampling: estimates, for networks that are too dense for exact answers.")
]
Draws = Annotated[int, opt("Number of draws per row of sampling.", min=1)]
Seed = Annotated[int | None, opt("Seed of draws. Default: random.", min=0)]

Cells = Annotated[
    str | None,
    opt(
        "Most cells of an unknown continuous variable; bins: answer by tables over bins, if others are too large. "
        "Default: as many as the time of an answer allows."
    ),
]
_N_DRAWS = 10_000


@reads_table("network")
def predict(
    network: SavedNetwork,
    data: Data,
    target: Annotated[str, opt("Variable to predict.")],
    out: Out = None,
    how: Annotated[
        str | None,
        opt("Of a continuous target: mean (default), median, or mode, the middle of the likeliest bin."),
    ] = None,
    proba: Annotated[bool, opt("Write the probability of every bin or level of the target.")] = False,
    interval: Annotated[
        float | None, opt("Write mean, median and the central interval of this probability, such as 0.9.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        opt(
            "NAME,NAME: columns of DATA that are copied, for example an id; may be repeated.",
            metavar="NAME,NAME",
        ),
    ] = None,
    method: Method = "exact",
    n_draws: Draws = _N_DRAWS,
    seed: Seed = None,
    unknown: Unknown = "missing",
    *,
    reading: ReadingOptions,
) -> None:
    """Predict one variable of NETWORK for every row of DATA from its other cells.

    Missing cells are summed out, and so are the columns of NETWORK that DATA lacks. The column of the target need not
    be in DATA, and its cells are not used. DATA is read like the table that NETWORK was learned from, but for the
    options that you give, and may be a folder or a quoted pattern of Parquet and Arrow files. Exit codes: 0 done, 1 not
    written, 2 wrong use, 3 network or data unusable, 130 interrupted.
    """
    from gomea_bn.data.dates import name_in_words

    if sum((proba, interval is not None, how is not None)) > 1:
        fail("Give only one of --how, --proba and --interval.", WRONG_USE)
    if interval is not None and not 0 < interval < 1:
        fail(f"--interval must be a probability between 0 and 1, got {interval:g}.", WRONG_USE)
    saved, loaded = _inputs(network, data, out, reading)
    frame, form = loaded.frame, loaded.form
    kept = _kept([*key_columns(reading, frame)], keep, frame)
    target = named_column(saved, target, "--target")
    others = [name for name in saved.names if name != target]
    frame = _with_absent(saved, frame, others)
    options: dict[str, Any] = {
        "method": method,
        "n_draws": n_draws,
        "random_state": seed,
        "unknown": unknown,
    }
    if target in saved.levels and (interval is not None or how not in (None, "mode")):
        fail(
            f"'{target}' is discrete: --interval and --how need a continuous target; use --proba.", WRONG_USE
        )
    with answering("Interrupted; nothing was written.", data_may_be_wrong=True):
        warnings.simplefilter("ignore", RowsDiffer)
        if proba:
            answer = saved.predict_proba(frame, target, **options)
            answer.columns = [f"{name_in_words(target)}={label}" for label in saved.bin_labels(target)]
        elif interval is not None:
            ends = ((1 - interval) / 2, (1 + interval) / 2)
            answer = saved.predict_interval(frame, target, ends, **options)
            percents = [f"{100 * end:.10g}%" for end in ends]
            answer.columns = [f"{target} {column}" for column in ("mean", "median", *percents)]
        else:
            predicted = saved.predict(frame, target, how, **options)
            # that of the column, whose values they are
            answer = predicted.to_frame(f"{predicted.name} predicted")
            answer.attrs = predicted.attrs
    _say_missing(frame, others, "they are summed out")
    # rows that are not known are no news to who asked for a prediction
    if (note := answer.attrs.pop("rows", {})).get("rows") is not None:
        say(note["words"])
    for name in answer.columns:
        if name in kept.columns:
            fail(f"--keep: '{name}' is also the name of a column of predictions.", WRONG_USE)
    import numpy as np
    import pandas as pd

    written = pd.concat([kept, answer], axis=1)
    given = np.zeros(written.shape, np.bool_)
    given[:, : kept.shape[1]] = True
    deliver_frame(written, out, as_parquet=_is_parquet(out), form=form, given=given)


@reads_table("network")
def impute(
    network: SavedNetwork,
    data: Data,
    out: Out = None,
    how: Annotated[
        str,
        opt(
            "draw: all missing cells of a row jointly from their distribution; mode: the likeliest level or bin "
            "of each; mean: the mean of continuous cells, the likeliest level of discrete ones; joint: the likeliest "
            "combination of all."
        ),
    ] = "draw",
    method: Method = "exact",
    n_draws: Draws = _N_DRAWS,
    seed: Seed = None,
    unknown: Unknown = "missing",
    *,
    reading: ReadingOptions,
) -> None:
    """Fill the missing cells of DATA, given the observed cells of their rows.

    Observed cells and columns that NETWORK lacks stay as they are; columns of NETWORK that DATA lacks are filled, too,
    and follow the others. DATA is read like the table that NETWORK was learned from, but for the options that you give,
    and may be a folder or a quoted pattern of Parquet and Arrow files. Exit codes: 0 done, 1 not written, 2 wrong use,
    3 network or data unusable, 130 interrupted.
    """
    if how not in ("draw", "mode", "mean", "joint"):
        fail(f"--how must be draw, mode, mean or joint, got {how!r}.", WRONG_USE)
    saved, loaded = _inputs(network, data, out, reading)
    frame, form = loaded.frame, loaded.form
    frame = _with_absent(saved, frame, saved.names)
    if how == "draw" and seed is None:
        from gomea_bn.learning.options import seed_of

        seed = seed_of(None)
        say(f"Drawing with --seed {seed}.")
    with answering("Interrupted; nothing was written.", data_may_be_wrong=True):
        filled = saved.impute(frame, how, method=method, n_draws=n_draws, random_state=seed, unknown=unknown)
    _say_missing(frame, saved.names, f"they are filled ({how})")
    import numpy as np

    from gomea_bn.data.columns import column_positions

    positions = column_positions(frame, saved.names)
    of_network = {positions[name] for name in saved.names}
    is_missing = frame.isna().any()
    others = [
        str(frame.columns[position])
        for position in range(frame.shape[1])
        if position not in of_network and is_missing.iloc[position]
    ]
    if others:
        say(f"Missing cells of {listed(others, 10)} stay: the network does not have these columns.")
    given = np.zeros(filled.shape, np.bool_)
    given[:, : frame.shape[1]] = frame.notna().to_numpy()
    # a value below a limit was observed, and no number may stand for it in the result
    if not _is_parquet(out):
        filled, given = _with_limits(filled, given, loaded)
    elif loaded.limited:
        say(f"Parquet holds the numbers that stand for limits in {listed(map(repr, loaded.limited), 5)}.")
    deliver_frame(filled, out, as_parquet=_is_parquet(out), form=form, given=given)


@reads_table("network")
def query(
    network: SavedNetwork,
    target: Annotated[
        list[str] | None,
        opt(
            "Variable whose distribution is wanted; several for their joint distribution. With --most-probable all "
            "that are not given, if there is none."
        ),
    ] = None,
    given: Statements = None,
    do: Annotated[
        list[str] | None,
        opt(
            "'x=3.2': an intervention, which cuts the edges into x; several may follow. Its answer is an effect "
            "only if the edges are causes.",
            metavar="COLUMN=VALUE",
        ),
    ] = None,
    most_probable: Annotated[
        int | None, opt("Print this many of the most probable combinations of the targets instead.", min=1)
    ] = None,
    method: Method = "exact",
    n_draws: Draws = _N_DRAWS,
    seed: Seed = None,
    cells: Cells = None,
    data: Annotated[
        Path | None,
        opt("File of a table, whose rows stand next to the answer. Default: counts in NETWORK's file."),
    ] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print the distribution of variables of NETWORK, given what is known about others, and what the rows say.

    Example: gomea-bn query out/run --target cough --given 'age in 40..60' 'smoker=yes'. Exit codes: 0 done, 2 wrong
    use, 3 network unusable, 130 interrupted.
    """
    from gomea_bn.cli.statements import read_statements, read_values
    from gomea_bn.network.conditionals.conditionals import INTERVAL

    if most_probable is not None:
        others = {"--do": do, "--data": data, "--n-draws": n_draws != _N_DRAWS, "--seed": seed is not None}
        others["--method"] = method != "exact"
        if refused := [option for option, is_given in others.items() if is_given]:
            fail(f"--most-probable does not take {refused[0]}; leave one of them out.", WRONG_USE)
    elif not target:
        fail("--target names the variable whose distribution is wanted; give one.", WRONG_USE)
    saved = loaded_network(network)
    target = [named_column(saved, name, "--target") for name in target or ()]
    if most_probable is not None:
        _print_most_probable(saved, target, given or (), most_probable, cells, as_json=as_json)
        return
    if data is not None and do:
        fail("--data has rows that were seen, not rows after --do; give one of them.", WRONG_USE)
    saved = _with_rows(saved, data, reading)
    with answering():
        # the printed answer says so
        warnings.simplefilter("ignore", RowsDiffer)
        stated = read_statements("--given", given or (), saved)
        changes = read_values("--do", do or (), saved)
        if both := [name for name in changes if name in stated]:
            raise GomeaBnError(f"--do and --given both name '{both[0]}'; give it once.")
        model = saved.do(changes) if changes else saved
        answer = model.query(
            list(target),
            stated,
            method=method,
            n_draws=n_draws,
            random_state=seed,
            cells=_cells(cells),
            interval=INTERVAL if len(target) == 1 else None,
        )
    if changes:
        say("Note: an intervention has this effect only if the edges are causes, which rows do not show.")
    words = [*(f"do({text.strip()})" for text in do or ()), *(text.strip() for text in given or ())]
    if as_json:
        typer.echo(json.dumps(_distribution_record(saved, target, given or (), do or (), answer), indent=2))
    else:
        say(_table(saved, target, words, answer), to_error=False)


def _inputs(
    network: str, data: Path, out: Path | None, reading: ReadingOptions
) -> tuple[DiscretizedBayesNet, Loaded]:
    """Return the network and the rows; exits if one cannot be used."""
    check_output("--out", out, {**files_of("NETWORK", network), "DATA": [data]}, (".csv", ".parquet"))
    saved = loaded_network(network)
    return saved, loaded_for_network(data, reading)


def _with_limits(
    filled: pd.DataFrame, given: NDArray[np.bool_], loaded: Loaded
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Return filled rows with texts such as "<0.006" as the table has them, and which cells are given."""
    import numpy as np

    from gomea_bn.cli.output import rounded_frame
    from gomea_bn.data.number_texts import without_unit

    limited, decimal = loaded.limited, loaded.form.decimal or "."
    names = [name for name in map(str, filled.columns) if name in limited]
    if not names:
        return filled, given
    changed = rounded_frame(filled, given)
    for name in names:
        position = [*map(str, filled.columns)].index(name)
        is_text = limited[name].notna().to_numpy()
        numbers = changed.iloc[:, position].to_numpy(np.float64, na_value=np.nan)
        cells = [None if np.isnan(n) else str(n).removesuffix(".0").replace(".", decimal) for n in numbers]
        for row in is_text.nonzero()[0]:
            # the numbers next to it have no unit
            cells[row] = without_unit(limited[name].iloc[row])
        changed.isetitem(position, np.array(cells, dtype=object))
        given[:, position] |= is_text
    say(f"Texts with limits stay as they are in {listed(map(repr, names), 5)}.")
    return changed, given


def _is_parquet(out: Path | None) -> bool:
    return out is not None and out.suffix.lower() == ".parquet"


def _with_rows(
    network: DiscretizedBayesNet, data: Path | None, reading: ReadingOptions
) -> DiscretizedBayesNet:
    """Return the network with the rows of --data next to its answers; exits if they cannot be used."""
    if data is None:
        return network
    frame = loaded_rows(data, reading)
    with failing(UNUSABLE_DATA):
        return network.with_rows(frame)


def _cells(text: str | None) -> int | str | None:
    """Return the value of --cells."""
    return int(text) if text is not None and text.isdecimal() else text


def _kept(keys: Sequence[str], keep: Sequence[str] | None, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of the data that say which row is which, and those that --keep names."""
    from gomea_bn.data.columns import column_positions

    try:
        names = [*keys, *(name for text in keep or () for name in fields_of("--keep", text))]
        positions = column_positions(frame, names)
        return frame.iloc[:, [positions[name] for name in dict.fromkeys(names)]]
    except GomeaBnError as error:
        fail(f"--keep: {error}", WRONG_USE)


def _with_absent(network: DiscretizedBayesNet, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows with columns of missing cells for the variables that they lack, and print these.

    Exits if the rows have no column of the network.
    """
    import pandas as pd

    from gomea_bn.network.parts import spellings
    from gomea_bn.network.rows import column_name

    labels = list(map(str, frame.columns))
    variables = spellings(network.names)
    present = {variables[label] for label in labels if label in variables}
    absent = [column_name(network, name) for name in names if name not in present]
    if not absent:
        return frame
    others = [label for label in labels if label not in variables]
    hints = "".join(f" For '{name}':{hint}" for name in absent if (hint := nearest(name, others)))
    if len(absent) == len(names):
        fail(
            f"The table has none of the columns of the network: {listed(map(repr, absent), 10)}. It has "
            f"{listed(map(repr, labels), 10)}.{hints}",
            UNUSABLE_DATA,
        )
    say(
        f"The table lacks {counted(len(absent), 'column')} of the network, whose cells count as missing: "
        f"{listed(map(repr, absent))}.{hints}"
    )
    empty = pd.DataFrame(None, index=frame.index, columns=absent, dtype=object)
    return pd.concat([frame, empty], axis=1)


def _say_missing(frame: pd.DataFrame, names: Sequence[str], what: str) -> None:
    """Print how many cells of the network's columns are missing, and what became of them."""
    from gomea_bn.data.columns import column_positions

    positions = column_positions(frame, names)
    is_missing = frame.iloc[:, [positions[name] for name in names]].isna()
    if (n_cells := int(is_missing.to_numpy().sum())) == 0:
        return
    counts = is_missing.sum()
    columns = [f"{name} {int(count):,}" for name, count in counts.items() if count]
    say(
        f"{counted(n_cells, 'missing cell')} in {int(is_missing.any(axis=1).sum()):,} of "
        f"{counted(len(frame), 'row')}: {what} ({listed(columns, 10)})."
    )


def _table(network: DiscretizedBayesNet, targets: Sequence[str], given: Sequence[str], answer: Any) -> str:
    """Return the printed distribution: one line per combination of bins or levels."""
    from gomea_bn.data.dates import name_in_words

    condition = f" | {', '.join(given)}" if given else ""
    headings = list(map(name_in_words, targets))
    rows = [[*labels] for labels in product(*map(network.bin_labels, targets))]
    widths = [max(len(row[column]) for row in [headings, *rows]) for column in range(len(targets))]
    line: Callable[[Sequence[str]], str] = lambda cells: "  ".join(  # noqa: E731
        f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)
    )
    note = answer.attrs.get("rows", {})
    shares = note.get("shares") or [None] * len(rows)
    # given the bins of numbers, as the shares of the rows are
    is_of_bins = bool(note.get("shares")) and note["network"] != answer.tolist()
    of_bins = note["network"] if is_of_bins else [None] * len(rows)
    interval = answer.attrs.get("interval", {})
    ends = [*zip(interval.get("low", ()), interval.get("high", ()), strict=True)]
    is_known = bool(ends) and ends[0][0] == ends[0][0]
    title = f"  {percent(interval['probability']) + ' interval':<16}" if is_known else ""
    title += "  in bins" * is_of_bins + "    rows" * bool(note.get("shares"))
    lines = [f"P({', '.join(headings)}{condition})", "", f"{line(headings)}  probability{title}"]
    between = [f"  [{low:.4f}, {high:.4f}]" if is_known else "" for low, high in ends] or [""] * len(rows)
    for row, probability, further, of_bin, share in zip(
        rows, answer.tolist(), between, of_bins, shares, strict=True
    ):
        further += "" if of_bin is None else f"  {of_bin:>7.4f}"
        further += "" if share is None else f"  {share:>6.4f}"
        lines.append(f"{line(row)}  {probability:>11.4f}{further}")
    if "standard_error" in answer.attrs:
        lines += ["", f"Estimates; the largest standard error is {answer.attrs['standard_error']:.2g}."]
    if is_known and interval["misfit"] is None:
        lines += ["", "The intervals take graph and bins as given."]
    if note:
        lines += ["", note["words"]]
    return "\n".join(lines)


def _distribution_record(
    network: DiscretizedBayesNet, targets: Sequence[str], given: Sequence[str], do: Sequence[str], answer: Any
) -> dict[str, Any]:
    """Return what `--json` prints; a bin is a list of its two ends."""
    from gomea_bn.network.inference.answers import states_of

    states = [list(map(_plain, states_of(network, [name]))) for name in targets]
    cells = [
        {**dict(zip(targets, combination, strict=True)), "probability": probability}
        for combination, probability in zip(product(*states), answer.tolist(), strict=True)
    ]
    interval = answer.attrs.get("interval", {})
    # JSON has no NaN
    is_known = all(low == low for low in interval.get("low", [float("nan")]))
    return {
        "target": list(targets),
        "given": list(given),
        "do": list(do),
        "distribution": cells,
        "interval": interval if is_known else None,
        **{key: value for key, value in answer.attrs.items() if key in ("standard_error", "rows")},
    }


def _print_most_probable(
    saved: DiscretizedBayesNet,
    targets: Sequence[str],
    given: Sequence[str],
    n: int,
    cells: str | None,
    *,
    as_json: bool,
) -> None:
    """Print the most probable combinations of bins and levels of the targets, or of all that is not given."""
    import pandas as pd

    from gomea_bn.cli.statements import read_statements
    from gomea_bn.data.dates import name_in_words
    from gomea_bn.network.inference.answers import states_of

    with answering():
        stated = read_statements("--given", given, saved)
        answer = saved.most_probable(stated, list(targets) or None, n, cells=_cells(cells))
    names = answer.columns[:-1].tolist()
    if as_json:
        records = [
            {name: _plain(value) for name, value in record.items()}
            for record in answer.to_dict(orient="records")
        ]
        typer.echo(json.dumps({"given": list(given), "combinations": records}, indent=2))
        return
    shown = answer.astype(dict.fromkeys(names, object))
    for name in names:
        labels = saved.bin_labels(name)
        shown[name] = [
            labels[code] for code in states_of(saved, [name]).get_indexer_for(pd.Index(answer[name])).tolist()
        ]
    condition = f" | {', '.join(text.strip() for text in given)}" if given else ""
    shown = shown.rename(columns=name_in_words)
    say(f"P({', '.join(shown.columns[:-1])}{condition})\n", to_error=False)
    say(shown.to_string(index=False, float_format="{:.4g}".format), to_error=False)


def _plain(value: Any) -> Any:
    """Return a bin as the list of its two ends, and other values as JSON can hold them."""
    if hasattr(value, "left"):
        return [float(value.left), float(value.right)]
    return value.item() if hasattr(value, "item") else value


@reads_table("network")
def explain(
    network: Network,
    target: Annotated[str, opt("Column whose answer is explained.")],
    given: Statements = None,
    data: Annotated[
        Path | None,
        opt("File of a table, for --row and to set next to the answer. Default: counts in NETWORK's file."),
    ] = None,
    row: Annotated[
        int | None,
        opt("Row of --data, counted from 0, whose cells are known; not that of the target.", min=0),
    ] = None,
    state: Annotated[
        str | None, opt("Level of a discrete target. Default: 1, true or yes, or else the rarest one.")
    ] = None,
    plot: Annotated[
        Path | None, opt("File of a plot to write: .png, .svg or .pdf; needs Matplotlib.")
    ] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print what the answer about one column of NETWORK rests on: drivers, findings, what to measure next, sensitivity.

    Example: gomea-bn explain out/run --target cough --given 'age=50' smoker=yes. Exit codes: 0 done, 1 not written, 2
    wrong use, 3 network or data unusable, 130 interrupted.
    """
    from gomea_bn.cli.statements import read_statements, read_values

    if data is None and row is not None:
        fail("--row is a row of the table of --data; give both.", WRONG_USE)
    if plot is not None:
        inputs = {**files_of("NETWORK", network), "--data": [data] if data else []}
        check_output("--plot", plot, inputs, PICTURES)
    saved = loaded_network(network)
    target = named_column(saved, target, "--target")
    cells = None
    if data is not None:
        frame = loaded_rows(data, reading)
        if row is not None and row >= len(frame):
            fail(f"--row must be a row of '{data}', 0 to {len(frame) - 1:,}, got {row:,}.", WRONG_USE)
        cells = None if row is None else frame.iloc[row]
        with failing(UNUSABLE_DATA):
            saved = saved.with_rows(frame)
    with answering():
        stated = read_statements("--given", given or (), saved)
        level = None
        if state is not None:
            level = next(iter(read_values("--state", [f"{target}={state}"], saved).values()))
        explanation = saved.explain(target, stated, cells, state=level)
    if as_json:
        typer.echo(json.dumps(_explanation_record(explanation), indent=2))
    else:
        say(str(explanation), to_error=False)
    if plot is not None:
        from gomea_bn.plots.explanation import plot_explanation

        write_figure(lambda: plot_explanation(explanation), plot)


def _explanation_record(explanation: Explanation) -> dict[str, Any]:
    """Return what `--json` prints; numbers that are not known are null."""
    from gomea_bn.network.explanations import PARTS

    tables = {}
    for part in PARTS:
        frame = getattr(explanation, part)
        frame = frame if part == "parameters" else frame.rename_axis("column").reset_index()
        tables[part] = json.loads(frame.to_json(orient="records"))
    low, high = explanation.interval
    return {
        "target": explanation.target,
        "quantity": explanation.quantity,
        "answer": explanation.answer,
        "interval": None if low != low else [low, high],
        "misfit": explanation.misfit,
        "baseline": explanation.baseline,
        "rows": None if explanation.rows is None else explanation.rows.plain(),
        "sentences": list(explanation.sentences),
        **tables,
    }
