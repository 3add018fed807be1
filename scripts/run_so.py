"""Learn one network from a table: the same as `gomea-bn learn`.

    python scripts/run_so.py data.csv --max-seconds 60 --seed 1 --out out/run

`python scripts/run_so.py --help` lists the options.
"""

import sys
from collections.abc import Sequence

from gomea_bn.cli.app import main as gomea_bn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `gomea-bn learn` with the given arguments and exit with its code."""
    options = sys.argv[1:] if arguments is None else list(arguments)
    gomea_bn(["learn", *options], prog_name="gomea-bn")


if __name__ == "__main__":
    main()
