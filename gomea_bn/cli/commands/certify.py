"""The command `certify`: prove that the graph of a saved network is optimal, or limit what it misses."""

from __future__ import annotations

from typing import Annotated

import typer

from gomea_bn.cli.named_networks import Network, named_network
from gomea_bn.cli.options import Data, reads_table
from gomea_bn.cli.output import UNUSABLE_DATA, fail, say
from gomea_bn.cli.running import answering, limit, loaded_rows
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError
from gomea_bn.texts import shown_name


@reads_table("network")
def certify(
    network: Network,
    data: Data,
    max_indegree: Annotated[
        int, typer.Option(help="Largest number of parents of a variable in the compared graphs.")
    ] = 3,
    max_seconds: Annotated[float, typer.Option(min=0, help="Time limit in seconds; 0 for none.")] = 60.0,
    scoring_method: Annotated[
        str | None,
        typer.Option(help="density-bic, density-bd, bic, aic, k2 or bdeu. Default: that of the network."),
    ] = None,
    ess: Annotated[
        float | None,
        typer.Option(help="Equivalent sample size of bdeu, in rows. Default: that of the network, or 1."),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Prove that no graph with the bins of NETWORK has a higher score on DATA, or print by how much one may be better.

    Ctrl-C ends the proof and keeps the bound so far. A better graph is printed edge by edge. Exit codes: 0 done, 2
    wrong use, 3 network or data unusable, 130 interrupted before there was a bound.
    """
    from gomea_bn.certainty.certificate import certify as certificate_of
    from gomea_bn.network.rows import table_for

    try:
        rows = loaded_rows(data, reading)
        saved = named_network(network, rows)
        table = table_for(saved, rows)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    with answering("Interrupted before there was a bound."):
        certificate = certificate_of(
            saved,
            table,
            max_indegree=max_indegree,
            max_seconds=limit(max_seconds),
            scoring_method=scoring_method,
            equivalent_sample_size=ess,
        )
    say(str(certificate), to_error=False)
    if certificate.best_score > certificate.score and not certificate.is_optimal:
        say("Edges of the better graph:", to_error=False)
        for parent, child in certificate.edges:
            say(f"  {shown_name(parent)} → {shown_name(child)}", to_error=False)
