"""The command `show`: print a saved network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gomea_bn.cli.options import reads_table
from gomea_bn.cli.output import UNUSABLE_DATA, fail, say
from gomea_bn.cli.running import loaded_rows
from gomea_bn.data.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError

__all__ = ["show"]


@reads_table
def show(
    network: Annotated[Path, typer.Argument(metavar="NETWORK", help="A network.json.")],
    data: Annotated[
        Path | None,
        typer.Option(help="File of a table; prints how many nats every cut gains on them."),
    ] = None,
    *,
    reading: ReadingOptions,
) -> None:
    """Print a saved network: its variables, their bins or levels, and its edges."""
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

    try:
        saved = DiscretizedBayesNet.from_json(network)
        gains = None
        if data is not None:
            from gomea_bn.learning.cut_gains import cut_gains

            gains = cut_gains(saved, loaded_rows(data, reading))
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    say(saved.summary(gains), to_error=False)
    metadata = saved.metadata
    if isinstance(metadata.get("score"), float) and "scoring_method" in metadata:
        say(f"\nScore ({metadata['scoring_method']}): {metadata['score']:.3f} nats.", to_error=False)
