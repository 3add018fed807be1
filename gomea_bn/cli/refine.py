"""The command `refine`: other cut points for a saved network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gomea_bn.learning.refinement import refine_boundaries
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.smoothing import PseudoCount

if TYPE_CHECKING:
    pass


def refine_command(
    network: Path,
    data: Path,
    out: Path,
    *,
    method: str = "dp",
    bin_counts: str | None = None,
    scoring_method: str | None = None,
    penalty: str | float = "bic",
    max_bins: int = 15,
    width_floor: float = 1e-3,
    min_bin_count: int = 1,
    max_seconds: float | None = 60.0,
    seed: int | None = None,
    pseudo_count: PseudoCount | None = None,
    starts: int = 1,
) -> str:
    """Refine the network of a JSON file with the rows of a file, write it to `out`, and return what to print.

    Parameters
    ----------
    network, data, out : Path
        A network.json, the table, and the JSON file to write.
    method, bin_counts, scoring_method, penalty, max_bins, width_floor, min_bin_count, max_seconds, seed, pseudo_count,
    starts
        See `refine_boundaries`, whose `random_state` is `seed`.

    Raises
    ------
    GomeaBnError
        For options out of range, and for files that cannot be used.
    """
    given = DiscretizedBayesNet.from_json(network)
    result = refine_boundaries(
        given,
        data,
        method,
        bin_counts,
        scoring_method=scoring_method,
        penalty=penalty,
        max_bins=max_bins,
        min_width=width_floor,
        min_bin_count=min_bin_count,
        max_seconds=max_seconds,
        random_state=seed,
        pseudo_count=pseudo_count,
        starts=starts,
    )
    result.network.to_json(out)
    bins = [
        f"  {name}: {given.cardinality(name)} -> {result.network.cardinality(name)} bins"
        for name in given.cut_points
    ]
    used = result.network.metadata["scoring_method"]
    return "\n".join(
        [
            f"Score ({used}, continuous columns scaled to [0, 1]): {result.score_before:.3f} -> "
            f"{result.score_after:.3f} nats.",
            *bins,
            f"Stopped by {result.stopped_by} after {result.seconds:.2f} s. Wrote {out}.",
        ]
    )
