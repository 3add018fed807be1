"""A study: one table and one outcome, from the rows to a page that a department reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.studies.outcome_study import Study as Study
    from gomea_bn.studies.outcome_study import study as study

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
