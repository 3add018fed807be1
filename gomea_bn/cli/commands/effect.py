"""The command `effect`: what a change of one column does to another one, if the arrows of a network are causes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.named_networks import Network, loaded_network, named_column, table_of_network
from gomea_bn.cli.options import AsJson, reads_table
from gomea_bn.cli.output import WRONG_USE, fail, say
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import answering, loaded_rows
from gomea_bn.data.files.reading import ReadingOptions

if TYPE_CHECKING:
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.causal_effect import CausalEffect


@reads_table("network")
def effect(
    network: Network,
    of: Annotated[str, opt("Treatment: the column that is set to other values.")],
    on: Annotated[str, opt("Outcome: the column that may change.")],
    start: Annotated[
        str | None,
        opt(
            "Value of the treatment to start from. Default: the lower quartile, or the first level.",
            "--from",
            metavar="VALUE",
        ),
    ] = None,
    end: Annotated[
        str | None,
        opt(
            "Value that the treatment is set to. Default: the upper quartile, or every other level.",
            "--to",
            metavar="VALUE",
        ),
    ] = None,
    data: Annotated[Path | None, opt("Rows. Default: the table of the run, if it is where it was.")] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Print what setting one column of NETWORK does to another one, next to the unadjusted difference of the rows.

    Example: gomea-bn effect out/run --of smoker --on cough

    The answer says which columns of the graph are adjusted for, and holds if the arrows of NETWORK are causes. An
    expert's graph becomes such a network by `gomea-bn fit edges.csv data.csv -o own.json`. Exit codes: 0 done, 2 wrong
    use, 3 network or data unusable, 130 interrupted.
    """
    if (start is None) != (end is None):
        fail("--from and --to are two values of the treatment; give both.", WRONG_USE)
    saved = loaded_network(network)
    of, on = named_column(saved, of, "--of"), named_column(saved, on, "--on")
    rows = table_of_network(network) if data is None else loaded_rows(data, reading)
    with answering(data_may_be_wrong=True):
        values = None if start is None or end is None else _values(saved, of, start, end)
        found = saved.causal_effect(of, on, rows, values)
    if as_json:
        typer.echo(json.dumps(_record(found), indent=2))
    else:
        say(str(found), to_error=False)


def _values(network: DiscretizedBayesNet, of: str, start: str, end: str) -> list[Any]:
    """Return the values of --from and --to."""
    from gomea_bn.cli.statements import read_values

    return [
        read_values(option, [f"{of}={text}"], network)[of]
        for option, text in (("--from", start), ("--to", end))
    ]


def _record(found: CausalEffect) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "of": found.of,
        "on": found.on,
        "adjusted_for": list(found.adjusted_for),
        "contrasts": found.contrasts.to_dict(orient="records"),
        "n_rows": found.n_rows,
        "sentences": list(found.sentences),
    }
