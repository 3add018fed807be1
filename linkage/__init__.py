"""Linkage models: which genes are exchanged together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.linkage.models import Linkage as Linkage
    from gomea_bn.linkage.models import LinkageModel as LinkageModel
    from gomea_bn.linkage.models import from_subsets as from_subsets
    from gomea_bn.linkage.models import linkage_model as linkage_model

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
