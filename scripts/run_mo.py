"""Find a front of networks of a table: the same as `gomea-bn front`.

    python scripts/run_mo.py data.csv --expert expert.bif --max-seconds 60 --seed 1 --out out/front

`python scripts/run_mo.py --help` lists the options.
"""

import sys
from collections.abc import Sequence

from gomea_bn.cli.app import main as gomea_bn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `gomea-bn front` with the given arguments and exit with its code."""
    options = sys.argv[1:] if arguments is None else list(arguments)
    gomea_bn(["front", *options], prog_name="gomea-bn")


if __name__ == "__main__":
    main()
