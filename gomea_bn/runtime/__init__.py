"""Compiled kernels, threads, limits, progress, and files written atomically, on which all other packages build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.runtime.checkpoints import Section as Section
    from gomea_bn.runtime.checkpoints import opened as opened
    from gomea_bn.runtime.cluster import connected as connected
    from gomea_bn.runtime.files import check_name as check_name
    from gomea_bn.runtime.files import field_of as field_of
    from gomea_bn.runtime.files import file_text as file_text
    from gomea_bn.runtime.files import finish_exchange as finish_exchange
    from gomea_bn.runtime.files import read_json as read_json
    from gomea_bn.runtime.files import write_bytes as write_bytes
    from gomea_bn.runtime.files import write_text as write_text
    from gomea_bn.runtime.fit_clock import NO_LIMIT as NO_LIMIT
    from gomea_bn.runtime.fit_clock import FitClock as FitClock
    from gomea_bn.runtime.interrupts import delayed_interrupts as delayed_interrupts
    from gomea_bn.runtime.jit import read_only as read_only
    from gomea_bn.runtime.jit import separate_kernel as separate_kernel
    from gomea_bn.runtime.kernel_progress import announced_kernels as announced_kernels
    from gomea_bn.runtime.kernel_progress import compiling as compiling
    from gomea_bn.runtime.limits import FrontHistoryEntry as FrontHistoryEntry
    from gomea_bn.runtime.limits import HistoryEntry as HistoryEntry
    from gomea_bn.runtime.limits import Limits as Limits
    from gomea_bn.runtime.limits import Progress as Progress
    from gomea_bn.runtime.limits import Result as Result
    from gomea_bn.runtime.progress import LiveTable as LiveTable
    from gomea_bn.runtime.sources import source_digest as source_digest
    from gomea_bn.runtime.threads import StopFlag as StopFlag
    from gomea_bn.runtime.threads import Workers as Workers
    from gomea_bn.runtime.threads import in_spare_threads as in_spare_threads
    from gomea_bn.runtime.threads import in_threads as in_threads
    from gomea_bn.runtime.threads import spare_threads as spare_threads

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
