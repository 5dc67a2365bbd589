"""What a rule can advise, as a finding prints it."""

from tracelens.remedies import Remedy, applicable

PAD = Remedy("pad", "Or pad it.")
MARK = Remedy("mark", "Mark it dynamic.", applies=lambda data: data["dynamic"])


def test_an_alternative_to_nothing_is_no_alternative() -> None:
    assert [one.text for one in applicable((MARK, PAD), {"dynamic": True})] == [
        "Mark it dynamic.",
        "Or pad it.",
    ]
    assert [one.text for one in applicable((MARK, PAD), {"dynamic": False})] == ["Pad it."]
    assert applicable((MARK,), {"dynamic": False}) == ()
