"""The end of a search in its checkpoint: the result, and the problem in which its genotypes have their meaning."""

from __future__ import annotations

from typing import Any

from gomea_bn.runtime.checkpoints import Section, State
from gomea_bn.runtime.limits import STOPPED_BY_USER, Result
from gomea_bn.runtime.run_state import result_of, result_state

__all__ = ["ended_before", "finish_section"]

_RESULT = "result"


def ended_before(section: Section, problem: Any) -> Result | None:
    """Return the result of a search that had ended when its checkpoint was written, after restoring its problem."""
    if section.saved is None or _RESULT not in section.saved:
        return None
    results: list[Result] = []

    def restore(state: State) -> None:
        problem.restore(state["problem"])
        results.append(result_of(state[_RESULT]))

    section.resume(restore)
    section.finish(section.saved)
    return results[0]


def finish_section(section: Section, problem: Any, result: Result, **more: Any) -> None:
    """Keep the result of a search that has ended, with further values; a search that the user stopped can go on."""
    if not section.is_active:
        return
    if result.stopped_by in STOPPED_BY_USER:
        section.set_frozen(True)
    section.finish({_RESULT: result_state(result), "problem": problem.state(), **more})
