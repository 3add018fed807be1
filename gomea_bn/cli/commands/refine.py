"""The command `refine`: move the cut points of a saved network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gomea_bn.cli.named_networks import NETWORK_HELP, files_of, named_network
from gomea_bn.cli.options import (
    DECLARED,
    MAX_BINS,
    MAX_SECONDS,
    MIN_BIN_COUNT,
    MIN_WIDTH,
    Data,
    MaxBins,
    MaxSeconds,
    MinBinCount,
    MinWidth,
    reads_table,
    value_of,
)
from gomea_bn.cli.output import (
    FAILED,
    INTERRUPTED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    check_writable,
    fail,
    finishing,
    say,
)
from gomea_bn.cli.running import limit, loaded_rows, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError
from gomea_bn.texts import shown_name

if TYPE_CHECKING:
    from gomea_bn.learning.cuts.refinement import RefinementResult
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

_METHOD_HELP = (
    "dp (exact, one variable at a time), rv-gomea, or a discretizer: bayesian, mdl, latent, mgcd, ..."
)


@reads_table("network")
def refine(
    network: Annotated[
        str,
        typer.Argument(metavar="NETWORK", help=NETWORK_HELP),
    ],
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="JSON file for the refined network.")],
    method: Annotated[str, typer.Option(help=_METHOD_HELP)] = "dp",
    bin_counts: Annotated[
        str | None,
        typer.Option(help="fixed (default) or free, for dp; discretizers always choose the number of bins."),
    ] = None,
    scoring_method: Annotated[
        str | None, typer.Option(help="density-bic or density-bd. Default: that of the network.")
    ] = None,
    penalty: Annotated[
        str | None,
        typer.Option(
            help="Penalty of density-bic: bic, literal, aic or nats per parameter. Default: that of the network."
        ),
    ] = None,
    max_bins: MaxBins = MAX_BINS,
    min_width: MinWidth = MIN_WIDTH,
    min_bin_count: MinBinCount = MIN_BIN_COUNT,
    max_seconds: MaxSeconds = MAX_SECONDS,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed that repeats a run; by default random and printed.")
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Move the cut points of NETWORK to fit DATA better; the graph stays.

    Conditional densities of NETWORK are learned again with the refined cuts.

    Ctrl-C ends the method and keeps the cuts so far. Exit codes: 0 done, 1 not written, 2 wrong use, 3 network or data
    unusable, 130 interrupted before there were cuts.
    """
    from gomea_bn.learning.cuts.refinement import refine_boundaries
    from gomea_bn.learning.options import seed_of
    from gomea_bn.network.rows import table_for

    check_targets({"--out": [out]}, {"NETWORK": files_of(network), "DATA": [data]})
    rows = loaded_rows(data, reading)
    try:
        former = named_network(network, rows)
        if not former.cut_points:
            raise GomeaBnError(
                f"'{network}' has no variable with cuts, so nothing can be refined; give a file that gomea-bn wrote."
            )
        with printed_warnings():
            table = table_for(former, rows, allow_missing=True)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    check_writable(out)
    seed = seed_of(seed)
    try:
        with printed_warnings():
            result = refine_boundaries(
                former,
                table,
                method,
                bin_counts,
                scoring_method=scoring_method,
                penalty=None if penalty is None else value_of(DECLARED["penalty"], penalty),
                max_bins=value_of(DECLARED["max_bins"], max_bins),
                min_width=min_width,
                min_bin_count=min_bin_count,
                max_seconds=limit(max_seconds),
                random_state=seed,
            )
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)
    with finishing("the report and the file"):
        try:
            result.network.to_json(out)
        except GomeaBnError as error:
            fail(error, FAILED)
        say(_report(former, result, out, seed), to_error=False)


def _report(before: DiscretizedBayesNet, result: RefinementResult, out: Path, seed: int) -> str:
    """Return the printed result: scores, numbers of bins, and why the method ended."""
    after = result.network
    lines = [
        f"Score ({after.metadata['scoring_method']}, continuous columns scaled to [0, 1]): "
        f"{result.score_before:.3f} -> {result.score_after:.3f} nats."
    ]
    lines += [
        f"  {shown_name(name)}: {before.cardinality(name)} -> {after.cardinality(name)} bins"
        for name in before.cut_points
    ]
    lines.append(
        f"Stopped by {result.stopped_by} after {result.seconds:.2f} s, with --seed {seed}. Wrote {out}."
    )
    return "\n".join(lines)
