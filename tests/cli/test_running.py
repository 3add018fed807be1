"""Warnings that commands print."""

import warnings

import pytest

from gomea_bn import GomeaBnWarning
from gomea_bn.cli import running
from gomea_bn.cli.running import printed_warnings
from gomea_bn.errors import Setting


@pytest.fixture(autouse=True)
def few_warnings(monkeypatch):
    """End a test whose warnings never end."""
    given, warn_explicit = [], warnings.warn_explicit

    def warn(*arguments, **options):
        given.append(arguments)
        assert len(given) < 10
        warn_explicit(*arguments, **options)

    monkeypatch.setattr(warnings, "warn_explicit", warn)


def warn_of(*given: Warning) -> None:
    """Give warnings as a command that prints them does."""
    with printed_warnings():
        for warning in given:
            warnings.warn(warning, stacklevel=1)


def test_warnings_of_libraries_are_given_once_where_they_were():
    with pytest.warns() as given:
        warn_of(FutureWarning("goes away"), DeprecationWarning("is old"))
    assert [(str(w.message), w.category, w.filename) for w in given] == [
        ("goes away", FutureWarning, __file__),
        ("is old", DeprecationWarning, __file__),
    ]


def test_warnings_while_warnings_are_printed_are_given_once(monkeypatch, capsys):
    say = running.say

    def warning_too(text):
        warnings.warn("of the terminal", RuntimeWarning, stacklevel=1)
        say(text)

    monkeypatch.setattr(running, "say", warning_too)
    with pytest.warns(RuntimeWarning) as given:
        warn_of(UserWarning("of the user's data"))
    assert len(given) == 1
    assert capsys.readouterr().err == "Warning: of the user's data\n"


@printed_warnings()
def failing():
    warnings.warn(GomeaBnWarning("Few rows.", [Setting("equivalent_sample_size", "2")]), stacklevel=1)
    raise ZeroDivisionError


def test_warnings_stand_before_the_error_that_follows_them(capsys):
    with pytest.raises(ZeroDivisionError):
        failing()
    assert capsys.readouterr().err == "Warning: Few rows. Give --ess 2.\n"
