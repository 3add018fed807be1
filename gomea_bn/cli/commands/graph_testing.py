"""The command `test-graph`: whether a table rejects the graph of a saved or drawn network."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gomea_bn.cli.named_networks import Network, named_network
from gomea_bn.cli.options import AsJson, Data, reads_table
from gomea_bn.cli.output import UNUSABLE_DATA, fail, say
from gomea_bn.cli.running import answering, loaded_rows
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError


@reads_table("network")
def test_graph(
    network: Network,
    data: Data,
    n_permutations: Annotated[
        int, typer.Option("--n-permutations", min=1, help="Number of permutations of every column.")
    ] = 499,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the permutations. Default: random.")
    ] = None,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Test whether DATA rejects the graph of NETWORK, and print edges that it lacks or does not need.

    An expert's edges are completed from DATA. Exit codes: 0 done, whatever the answer, 2 wrong use, 3 network or data
    unusable, 130 interrupted.
    """
    from gomea_bn.certainty import test_graph as result_of
    from gomea_bn.network.rows import table_for

    try:
        rows = loaded_rows(data, reading)
        saved = named_network(network, rows)
        table = table_for(saved, rows)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    with answering():
        result = result_of(saved, table, n_permutations=n_permutations, random_state=seed)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2))
    else:
        say(str(result), to_error=False)
