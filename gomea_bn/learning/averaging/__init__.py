"""Conditional densities of learned networks: sets of cuts drawn from their posterior, and lines of parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.learning.averaging.line_scales import LineRows as LineRows
    from gomea_bn.learning.averaging.line_scales import RepeatedValues as RepeatedValues
    from gomea_bn.learning.averaging.line_scales import least_scale as least_scale
    from gomea_bn.learning.averaging.line_scales import line_scale as line_scale
    from gomea_bn.learning.averaging.line_scales import log_steps as log_steps
    from gomea_bn.learning.averaging.stacks import Member as Member
    from gomea_bn.learning.averaging.stacks import best_stack as best_stack
    from gomea_bn.learning.averaging.stacks import mixture_weight as mixture_weight

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
