"""The command `most-probable`: the likeliest combinations of values of a saved network."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from gomea_bn.cli.named_networks import Network, Statements, loaded_network
from gomea_bn.cli.options import AsJson
from gomea_bn.cli.output import say
from gomea_bn.cli.running import answering


def most_probable(
    network: Network,
    target: Annotated[
        list[str] | None,
        typer.Option(help="Variable of the combination; may be repeated. Default: all that are not given."),
    ] = None,
    given: Statements = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of combinations.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Print the most probable combinations of bins and levels of NETWORK, given what is known about others.

    Example: gomea-bn most-probable out/run --given 'age in 40..60' 'smoker=yes'. Exit codes: 0 done, 2 wrong use, 3
    network unusable, 130 interrupted.
    """
    import pandas as pd

    from gomea_bn.cli.statements import read_statements
    from gomea_bn.network.inference.answers import states_of
    from gomea_bn.network.value_kinds import spellings

    saved = loaded_network(network)
    variables = spellings(saved.names)
    targets = [variables.get(name, name) for name in target] if target else None
    with answering():
        stated = read_statements("--given", given or (), saved)
        answer = saved.most_probable(stated, targets, n)
    names = answer.columns[:-1].tolist()
    if as_json:
        records = [
            {name: _plain(value) for name, value in record.items()}
            for record in answer.to_dict(orient="records")
        ]
        typer.echo(json.dumps({"given": list(given or ()), "combinations": records}, indent=2))
        return
    shown = answer.astype(dict.fromkeys(names, object))
    for name in names:
        labels = saved.bin_labels(name)
        shown[name] = [
            labels[code] for code in states_of(saved, [name]).get_indexer_for(pd.Index(answer[name])).tolist()
        ]
    condition = f" | {', '.join(text.strip() for text in given)}" if given else ""
    say(f"P({', '.join(names)}{condition})\n", to_error=False)
    say(shown.to_string(index=False, float_format="{:.4g}".format), to_error=False)


def _plain(value: Any) -> Any:
    """Return a bin as the list of its two ends, and other values as JSON can hold them."""
    if hasattr(value, "left"):
        return [float(value.left), float(value.right)]
    return value.item() if hasattr(value, "item") else value
