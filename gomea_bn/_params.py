"""The part of scikit-learn's estimator protocol that is needed without importing scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from gomea_bn.errors import GomeaBnError

__all__ = ["Parameters"]


class Parameters:
    """`get_params`, `set_params`, a short repr, and tags for scikit-learn's tools."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name and return self; raises `GomeaBnError` for an unknown name."""
        known = self._parameter_names()
        for name, value in parameters.items():
            if name not in known:
                raise GomeaBnError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not (value is defaults[name].default or repr(value) == repr(defaults[name].default))
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(string=True, categorical=True),
        )
