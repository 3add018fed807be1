"""Counts and lists as text."""

from gomea_bn.texts import counted, listed, percent


def test_a_noun_is_plural_unless_there_is_one():
    assert [counted(n, "edge") for n in (0, 1, 2)] == ["0 edges", "1 edge", "2 edges"]
    assert counted(1, "probability", "probabilities") == "1 probability"
    assert counted(1234, "probability", "probabilities") == "1,234 probabilities"


def test_only_items_beyond_the_limit_are_counted():
    assert listed([]) == ""
    assert listed(range(3)) == listed(range(3), most=3) == "0, 1, 2"
    assert listed(range(5), most=3) == "0, 1, 2 and 2 more"


def test_small_shares_say_how_small():
    shares = (0, 0.0004, 0.0005, 0.0312, 0.0996, 0.5, 1)
    assert [percent(share) for share in shares] == [
        "0 %", "below 0.1 %", "0.1 %", "3.1 %", "10 %", "50 %", "100 %"
    ]  # fmt: skip
