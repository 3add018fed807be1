"""Parameters as of scikit-learn's estimators, without importing scikit-learn."""

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
        """Return the parameters of the constructor by name.

        With `deep` also the parameters of a learner or discretizer among them, named as in scikit-learn:
        ``learner__max_bins``.
        """
        values = {name: getattr(self, name) for name in self._parameter_names()}
        nested = {
            f"{name}__{inner}": inner_value
            for name, value in values.items()
            if deep and isinstance(value, Parameters)
            for inner, inner_value in value.get_params().items()
        }
        return {**values, **nested}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by the names of `get_params` and return self; raises `GomeaBnError` for an unknown name."""
        names = self._parameter_names()
        # replace a learner before its parameters are set
        for path, value in sorted(parameters.items(), key=lambda item: item[0].count("__")):
            name, _, inner = path.partition("__")
            if name not in names:
                raise GomeaBnError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}."
                )
            present = getattr(self, name)
            if not inner:
                setattr(self, name, value)
            elif isinstance(present, Parameters):
                present.set_params(**{inner: value})
            else:
                raise GomeaBnError(f"{path} cannot be set: {name} is {present!r}, which has no parameters.")
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
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
