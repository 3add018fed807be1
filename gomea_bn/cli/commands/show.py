"""The command `show`: a network as text, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gomea_bn.cli.named_networks import (
    Network,
    files_of,
    named_column,
    named_network,
    tested_network,
)
from gomea_bn.cli.option_texts import fields_of
from gomea_bn.cli.options import TestGraph, reads_table
from gomea_bn.cli.output import (
    PICTURES,
    UNUSABLE_DATA,
    WRONG_USE,
    check_output,
    fail,
    failing,
    say,
    write_figure,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import loaded_rows, printed_warnings, tested_graph
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.texts import listed, shown_name

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.bayes_net import DiscretizedBayesNet

_Pair = tuple[str, str]


@reads_table("network")
def show(
    network: Network,
    data: Annotated[
        Path | None,
        opt(
            "File of a table; prints how many nats every cut gains on its rows, or the edge of --why. Completes "
            "an expert's edges."
        ),
    ] = None,
    parents: Annotated[str | None, opt("Print the parents of this variable.")] = None,
    children: Annotated[str | None, opt("Print the children of this variable.")] = None,
    ancestors: Annotated[str | None, opt("Print the ancestors of this variable.")] = None,
    descendants: Annotated[str | None, opt("Print the descendants of this variable.")] = None,
    markov_blanket: Annotated[
        str | None, opt("Print the parents, the children and the other parents of children of this variable.")
    ] = None,
    d_separated: Annotated[
        _Pair | None, opt("A B: whether the graph implies that A and B are independent, given --given.")
    ] = None,
    given: Annotated[
        list[str] | None, opt("NAME,NAME: conditions of --d-separated; may be repeated.", metavar="NAME,NAME")
    ] = None,
    why: Annotated[
        _Pair | None, opt("PARENT CHILD: what this edge is worth, and with --data what it gains on the rows.")
    ] = None,
    test_graph: TestGraph = False,
    reversible: Annotated[bool, opt("Print compelled (→) and reversible (—) edges.")] = False,
    out: Annotated[
        Path | None,
        opt("Picture of the network to write in place of text: .svg, .png or .pdf.", "--out", "-o"),
    ] = None,
    column: Annotated[
        str | None, opt("With --out: the density of this column, with --data over a histogram of its rows.")
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Print a saved network: its variables, their bins or levels, and its edges; or answer about its graph; or draw it.

    Example: gomea-bn show out/run --why smoker cough --data data.csv. Exit codes: 0 done, 1 not written, 2 wrong use, 3
    network or data unusable.
    """
    if given and d_separated is None:
        fail("--given is for --d-separated; give both.", WRONG_USE)
    if test_graph and why is None:
        fail("--test-graph is for --why; the command `gomea-bn test-graph` tests all edges.", WRONG_USE)
    relatives = {
        "parents": parents,
        "children": children,
        "ancestors": ancestors,
        "descendants": descendants,
        "markov_blanket": markov_blanket,
    }
    if column is not None and out is None:
        fail("--column is for --out, the file of a picture; give both.", WRONG_USE)
    if out is not None:
        asked = {**relatives, "d_separated": d_separated, "why": why, "reversible": reversible or None}
        if printed := [name for name, value in asked.items() if value is not None]:
            fail(f"--out draws, and --{printed[0].replace('_', '-')} prints; give one of them.", WRONG_USE)
        inputs = {**files_of("NETWORK", network), "--data": [data] if data else []}
        check_output("--out", out, inputs, PICTURES)
    with failing(UNUSABLE_DATA):
        rows = None if data is None else loaded_rows(data, reading)
        saved = named_network(network, rows)
    if out is not None:
        _draw(saved, out, column, rows)
        return
    with failing(WRONG_USE):
        answers = [
            f"{relation.replace('_', ' ').capitalize()} of {shown_name(name)}: "
            f"{listed(map(shown_name, getattr(saved, relation)(name))) or 'none'}"
            for relation, name in relatives.items()
            if name is not None
        ]
        if d_separated is not None:
            answers.append(_separation(saved, d_separated, given or ()))
        if why is not None and not (test_graph and why not in saved.edges):
            answers.append(str(saved.why(why, rows)))
        if why is not None and test_graph:
            tested = tested_graph(tested_network(network, saved), rows)
            answers.append(f"{' and '.join(map(shown_name, why))}: {tested.note(*why)}.\n{tested.sentence}")
        if reversible:
            answers.append(str(saved.cpdag()) or "The network has no edges.")
    if answers:
        say("\n".join(answers), to_error=False)
    else:
        _print(saved, rows)


def _draw(network: DiscretizedBayesNet, out: Path, column: str | None, rows: pd.DataFrame | None) -> None:
    """Draw a network, or the density of one of its columns, into a file."""
    from gomea_bn.network.rows import rows_for
    from gomea_bn.plots.density import plot_density
    from gomea_bn.plots.network import plot_network

    if column is None:
        if rows is not None:
            fail("--data draws rows behind the density of --column; give both.", WRONG_USE)
        write_figure(lambda: plot_network(network), out)
        return
    variable = named_column(network, column, "--column")
    with failing(UNUSABLE_DATA):
        table = None if rows is None else rows_for(network, rows)
    write_figure(lambda: plot_density(network, variable, table=table), out)


def _separation(network: DiscretizedBayesNet, pair: _Pair, given: list[str] | tuple[str, ...]) -> str:
    """Return in words whether two variables are d-separated."""
    names = [name for text in given for name in fields_of("--given", text)]
    is_separated = network.d_separated(*pair, names)
    first, second = map(shown_name, pair)
    condition = f" given {listed(map(shown_name, names))}" if names else ""
    if is_separated:
        return (
            f"{first} and {second} are d-separated{condition}: the graph implies that they are independent."
        )
    return f"{first} and {second} are not d-separated{condition}: the graph lets them depend on each other."


def _print(network: DiscretizedBayesNet, rows: pd.DataFrame | None) -> None:
    """Print the summary and the score, and with rows the gains of cuts and the density."""
    gains = None
    if rows is not None:
        from gomea_bn.learning.cuts.cut_gains import cut_gains

        with failing(UNUSABLE_DATA):
            gains = cut_gains(network, rows)
    say(network.summary(gains), to_error=False)
    metadata = network.metadata
    if isinstance(metadata.get("score"), float) and "scoring_method" in metadata:
        say(f"\nScore ({metadata['scoring_method']}): {metadata['score']:.3f} nats.", to_error=False)
    if rows is not None:
        from gomea_bn.network.bin_distributions import points_measure

        with failing(UNUSABLE_DATA), printed_warnings():
            density = network.score(rows)
        measure = points_measure(network)
        noted = f" ({measure})" if measure else ""
        say(f"Mean log density per row of DATA, in its units{noted}: {density:.4f} nats.", to_error=False)
