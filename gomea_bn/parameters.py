"""Parameters as of scikit-learn's estimators, without importing scikit-learn, and the declarations of options.

An option is declared once, by `option` as a field of a dataclass: its default, the values that are allowed and a
sentence. The signature is that of the dataclass; errors come from the check; a command takes from the declaration the
default, the reading of texts, the word for values and the help of its option.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any, ClassVar, Self, TypeVar

from gomea_bn.errors import (
    GomeaBnError,
    Option,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    is_integer,
    is_real,
    nearest,
)

_Owner = TypeVar("_Owner", bound=object)


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
        # replace a learner before its parameters are set
        for path, value in sorted(parameters.items(), key=lambda item: item[0].count("__")):
            name, _, inner = path.partition("__")
            check_names(self, type(self).__init__, [name])
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


def check_names(owner: object, constructor: Callable[..., None], names: Iterable[str]) -> None:
    """Raise `GomeaBnError` for a name that is none of the parameters of a constructor of the class of `owner`.

    A subclass may have a constructor of its own, with other parameters.
    """
    known = [name for name in inspect.signature(constructor).parameters if name != "self"]
    hint_of = getattr(owner, "_hint_of", lambda name: "")
    for name in names:
        if name not in known:
            hint = hint_of(name) or nearest(name, known) or f" It has {', '.join(known)}."
            raise GomeaBnError(f"{type(owner).__name__} has no parameter {name!r}.{hint}")


def with_known_names(owner: type[_Owner]) -> type[_Owner]:
    """Let the constructor of a class refuse names of parameters that it does not have by `check_names`."""
    present = owner.__init__

    @functools.wraps(present)
    def construct(self: _Owner, *arguments: Any, **parameters: Any) -> None:
        check_names(self, present, parameters)
        present(self, *arguments, **parameters)

    setattr(owner, "__init__", construct)  # noqa: B010 (mypy allows no other way)
    return owner


@dataclass(frozen=True)
class Number:
    """Finite numbers in a range, or one of some words.

    `above` and `below` exclude `least` and `most` themselves, `below` for options without words. `words` are texts that
    are allowed instead. `none` is what a command calls None, or "" if it has no word for it; without it None is not
    allowed. Where it is "0", infinity is allowed too.
    """

    least: float = -inf
    most: float = inf
    above: bool = False
    below: bool = False
    words: tuple[str, ...] = ()
    none: str | None = None

    _noun: ClassVar[str] = "a finite number"

    def __call__(self, name: str, value: Any) -> None:
        """Raise `GomeaBnError` if the option `name` cannot have the value."""
        is_none = value is None and self.none is not None
        if (
            is_none
            or (isinstance(value, str) and value in self.words)
            or (self.none == "0" and is_real(value) and value == inf)
        ):
            return
        if not self.words:
            check_number(
                name,
                value,
                self.least,
                self.most,
                above=self.above,
                below=self.below,
                optional=self.none is not None,
            )
        elif not self._is_within(value):
            words = [*map(repr, self.words), *([] if self.none is None else ["None"])]
            raise self._error(name, " or ".join(words), value)

    def _is_within(self, value: Any) -> bool:
        is_high = is_real(value) and (value > self.least if self.above else value >= self.least)
        return is_high and value <= self.most and abs(value) < inf

    def _error(self, name: str, words: str, got: Any) -> GomeaBnError:
        limits = (
            f" {'above' if self.above else 'of at least'} {self.least:g}"
            if self.most == inf
            else f" from {self.least:g} to {self.most:g}"
        )
        return GomeaBnError([Option(name), f" must be {self._noun}{limits}, or {words}, got {got!r:.80}."])

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts that a command takes in place of a number."""
        return (*self.words, self.none) if self.none else self.words

    @property
    def metavar(self) -> str:
        """Word for the values in the help of a command."""
        return "NUMBER" if not self.words else "|".join(("NUMBER", *self.texts))

    def read(self, name: str, text: str) -> Any:
        """Return the value that a text on the command line stands for."""
        if text in self.texts:
            return None if text == self.none else text
        try:
            value = self._parsed(text)
        except ValueError:
            value = None
        if self.none == "0" and value == inf:
            return None
        if value is None or not self._is_within(value):
            raise self._error(name, " or ".join(self.texts), text)
        return value

    def _parsed(self, text: str) -> float:
        return float(text)


@dataclass(frozen=True)
class WholeNumber(Number):
    """Integers in a range, both ends included, or one of some words; the parameters are those of `Number`."""

    _noun: ClassVar[str] = "an integer"

    def __call__(self, name: str, value: Any) -> None:
        """Raise `GomeaBnError` if the option `name` cannot have the value."""
        if self.words:
            super().__call__(name, value)
        else:
            most = None if self.most == inf else int(self.most)
            check_integer(name, value, int(self.least), most, optional=self.none is not None)

    def _is_within(self, value: Any) -> bool:
        return is_integer(value) and super()._is_within(value)

    def _parsed(self, text: str) -> float:
        return int(text)


@dataclass(frozen=True)
class Choice:
    """One of some texts, or None if it is optional."""

    choices: tuple[str, ...]
    optional: bool = False

    def __call__(self, name: str, value: Any) -> None:
        """Raise `GomeaBnError` if the option `name` cannot have the value."""
        check_choice(name, value, self.choices, optional=self.optional)

    @property
    def metavar(self) -> str:
        """Word for the values in the help of a command."""
        return "|".join(self.choices)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    metavar = None

    def __call__(self, name: str, value: Any) -> None:
        """Raise `GomeaBnError` if the option `name` cannot have the value."""
        check_flag(name, value)


@dataclass(frozen=True)
class Declaration:
    """What is stated about an option.

    `check` has the allowed values; None where only the table or another option decides. `help` is the sentence for a
    command; without one, commands have no such option. `panel` is the heading of its group there, and `command` its
    name there, without hyphens in front, where it is not that in Python. `metavar` is the word for values in the help
    where the check has none, and `repeats` whether a command takes the option again.
    """

    name: str
    default: Any
    check: Number | Choice | Flag | None
    help: str
    panel: str
    command: str
    metavar: str = ""
    repeats: bool = False


def option(
    default: Any,
    check: Number | Choice | Flag | None = None,
    help: str = "",
    *,
    panel: str = "Search",
    command: str = "",
    **others: Any,
) -> Any:
    """Return the field of a dataclass that declares an option; the parameters are those of `Declaration`.

    A mapping as default is copied for every object.
    """
    metadata = stated(check, help, panel=panel, command=command) | others
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata, kw_only=True)
    return field(default=default, metadata=metadata, kw_only=True)


def stated(
    check: Number | Choice | Flag | None, help: str, *, panel: str = "Search", command: str = ""
) -> dict[str, Any]:
    """Return the metadata of a field that declares an option, for fields that `option` does not make."""
    return {"check": check, "help": help, "panel": panel, "command": command}


def declarations(owner: Any) -> dict[str, Declaration]:
    """Return the options that the fields of a dataclass declare, by name."""
    return {f.name: Declaration(f.name, f.default, **f.metadata) for f in fields(owner) if f.metadata}


def check_declared(declared: Iterable[Declaration], values: Mapping[str, Any]) -> None:
    """Raise `GomeaBnError` for the first option whose value is not allowed; options without a value are passed over."""
    for declaration in declared:
        if declaration.check is not None and declaration.name in values:
            declaration.check(declaration.name, values[declaration.name])
