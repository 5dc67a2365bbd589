"""Which finding of one run is which of another: no runs."""

import pytest

from tests.live.reports import finding, report
from tracelens.live.matching import (
    as_many,
    brought,
    count,
    foreign,
    left,
    matching,
    remains,
    replacement,
)
from tracelens.report import Finding, Report, Severity, Where


def test_a_finding_is_found_again_by_its_id_or_by_its_place() -> None:
    old = finding()
    moved = finding(number=2, where=Where(file="/elsewhere/train.py", line=7, function="step"))
    other = finding(number=3, where=Where(file="train.py", line=7, function="evaluate"))
    nowhere = finding(number=4, where=None)
    assert matching(old, report(old, moved)) == (old,)
    assert matching(old, report(moved, other)) == (moved,)
    lower = finding(number=5, where=Where(file="/srv/train.py", line=9, function="step"))
    assert matching(old, report(lower)) == (), "another line of the function is another claim"
    assert left(old)(report(lower)) == 1, "and yet what is left of this one"
    assert count(old)(report(lower)) == 0
    renamed = finding(number=6, title="another title")
    assert matching(old, report(renamed)) == ()
    assert matching(old, report(other, nowhere)) == ()
    assert matching(nowhere, report(old)) == ()
    assert matching(old, report(finding("GBR002"))) == ()


def test_a_harmless_remark_is_not_the_defect() -> None:
    remark = finding(severity=Severity.NONE)
    assert matching(finding(), report(remark)) == ()
    assert matching(remark, report(remark)) == (remark,)


def test_only_what_is_new_and_as_bad_in_the_same_function_takes_its_place() -> None:
    old, known = finding(), finding("GBR009", 9)
    new = finding("GBR009", 10)
    assert replacement(old, report(old, known), report(known)) is None
    assert replacement(old, report(old), report(new)) == new
    mild = finding("GBR009", 11, severity=Severity.INFO)
    assert replacement(old, report(old), report(mild)) is None
    family = finding("RCP009", 12)
    assert replacement(old, report(old), report(family)) is None
    elsewhere = finding("GBR009", 13, where=Where(file="train.py", line=3, function="other"))
    assert replacement(old, report(old), report(elsewhere)) is None


ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False"
BRANCH = "Data-dependent branching"


def broken(*places: tuple[int, str]) -> Report:
    rows = tuple({"file": "train.py", "line": line, "type": kind} for line, kind in places)
    return report().model_copy(update={"tables": {"graph_breaks": rows}})


@pytest.mark.parametrize(
    ("after", "is_as_many"),
    [
        # The finding is of line 7.
        ([(7, ITEM)], True),
        ([(7, BRANCH)], True),  # `if x.item() > 3:` with the number in the graph
        ([(7, BRANCH), (9, BRANCH)], True),
        ([(7, "Call to print")], False),  # it was hidden on the same line
        ([(9, BRANCH)], False),  # it was hidden below
        ([(9, ITEM)], False),
        ([(8, ITEM), (9, ITEM)], False),
        ([], False),
    ],
)
def test_a_break_is_as_it_was_only_where_its_own_line_breaks_for_the_same(
    after: list[tuple[int, str]], is_as_many: bool
) -> None:
    assert as_many(finding(), broken((7, ITEM)), broken(*after)) is is_as_many


def test_a_line_that_broke_for_two_reasons_is_not_as_it_was_with_one() -> None:
    before = broken((7, ITEM), (7, "Call to print"))
    assert not as_many(finding(), before, broken((7, ITEM)))
    assert as_many(finding(), before, before)


def test_what_is_seen_as_often_in_another_form_has_moved() -> None:
    def seen(number: int, count: int = 2, op: str = "sort", code: str = "IND002") -> Finding:
        return finding(code, number, where=None, count=count, data={"op": op, "n": number})

    old = seen(1)
    assert as_many(old, report(old), report(seen(3)))
    assert not as_many(old, report(old), report(seen(3, count=1)))
    assert not as_many(old, report(old), report(seen(3, op="bucketize"))), "another operator"
    assert not as_many(old, report(old, seen(3)), report(seen(3))), "it was there before"
    assert not as_many(old, report(old), report())


@pytest.mark.parametrize(
    ("code", "times", "cause", "source", "is_as_many"),
    [
        ("RCP004", 3, "RCP016", "n", True),  # the same argument
        ("RCP004", 3, "RCP004", "m", True),  # the same kind of guard
        ("RCP004", 3, "RCP016", "x", False),  # a guard that was not reached before
        ("RCP004", 2, "RCP016", "n", False),  # less often
        ("RCP004", 3, "", "", False),  # no rule tells for what
        ("RCP001", 3, "RCP004", "n", False),  # raising a limit recompiles: that is its purpose
    ],
)
def test_recompiles_are_as_they_were_only_for_the_same_guard_or_argument(
    code: str, times: int, cause: str, source: str, is_as_many: bool
) -> None:
    def compiled(count: int, *findings: Finding) -> Report:
        row = {"file": "train.py", "line": 1, "function": "step", "count": count}
        return report(*findings).model_copy(update={"tables": {"recompiles": (row,)}})

    old = finding(code, data={"cause": "RCP004", "source": "n"})
    new = finding(cause or "RCP021", 2, data={"cause": cause, "source": source})
    assert as_many(old, compiled(3, old), compiled(times, new)) is is_as_many


def test_recompiles_of_another_function_are_not_the_same() -> None:
    row = {"file": "train.py", "line": 1, "function": "step", "count": 3}
    rows = {"tables": {"recompiles": (row,)}}
    told = {"cause": "RCP004", "source": "n"}
    old = finding("RCP004", data=told)
    elsewhere = Where(file="train.py", line=7, function="evaluate")
    other = finding("RCP004", 2, data=told, where=elsewhere)
    before, after = (report(one).model_copy(update=rows) for one in (old, other))
    assert not as_many(old, before, after)


def test_sizes_that_recompile_take_the_place_of_what_they_made_dynamic() -> None:
    """Static sizes end DYN003, and every size is compiled for: that is no success."""
    old = finding("DYN003", severity=Severity.INFO)
    many = finding("RCP002", 2, severity=Severity.WARNING)
    assert replacement(old, report(old), report(many)) == many
    assert replacement(old, report(old, many), report(many)) is None


def test_what_no_place_is_known_of_is_replaced_by_the_same_rule_only() -> None:
    """Freezing may turn one library's unfused call into another's."""
    old = finding("IND002", where=None, count=2)
    again = finding("IND002", 3, where=None, count=2)
    assert replacement(old, report(old), report(again)) == again
    fewer = finding("IND002", 4, where=None, count=1)
    assert replacement(old, report(old), report(fewer)) is None
    other = finding("IND008", 5, where=None, count=2)
    assert replacement(old, report(old), report(other)) is None
    mild = finding("IND002", 6, where=None, count=2, severity=Severity.INFO)
    assert replacement(old, report(old), report(mild)) is None


@pytest.mark.parametrize(
    ("environment", "machine", "devices", "words"),
    [
        ({"isa": "AArch64 SVE (256 bits)"}, "x86_64", None, "aarch64"),
        ({"isa": "Intel AVX-512 with Intel DL Boost"}, "aarch64", None, "x86_64"),
        ({"isa": "Intel AVX2"}, "x86_64", None, ""),
        ({"cpu": "Neoverse-V1"}, "arm64", None, ""),
        ({}, "x86_64", [], ""),
        ({"device": "NVIDIA A100-SXM4-80GB"}, "x86_64", [], "no such device"),
        ({"device": "cuda"}, "x86_64", ["/dev/kfd"], ""),
        ({"device": "cpu"}, "x86_64", [], ""),
    ],
)
def test_a_log_from_another_machine(
    environment: dict[str, str], machine: str, devices: list[str] | None, words: str
) -> None:
    said = foreign(report(**environment), machine, devices)
    assert words in said
    assert bool(said) is bool(words)


def test_what_a_change_brings_along_is_told_where_it_was_nowhere_before() -> None:
    old, place = finding(), Where(file="train.py", line=30, function="whole_step")
    new = finding("RCP017", 2, where=place)
    worse = finding("RCP001", 3, where=place, severity=Severity.ERROR)
    follows = finding("RCP001", 4, severity=Severity.ERROR, explained_by=new.id)
    assert brought(report(old), report(old)) is None
    assert brought(report(old), report(new)) == new
    assert brought(report(old), report(new, worse)) == worse
    assert brought(report(old), report(follows, new)) == new, "the cause, not what follows from it"
    assert brought(report(old), report(finding("RCP017", 5, severity=Severity.INFO))) is None
    assert brought(report(old), report(finding("TRC020", 6))) is None, "it comes and goes by chance"
    moved = finding("RCP017", 7, where=Where(file="/srv/train.py", line=31, function="whole_step"))
    assert brought(report(old, moved), report(new)) is None, "it was there, a line further on"


def tabled(**tables: list[dict[str, object]]) -> Report:
    return report().model_copy(update={"tables": {k: tuple(v) for k, v in tables.items()}})


def breaks(*kinds: str, line: int = 7) -> Report:
    rows = [{"file": "/srv/train.py", "line": line, "type": kind, "count": 1} for kind in kinds]
    return tabled(graph_breaks=rows)


def test_a_break_lives_on_where_its_line_breaks_the_graph_for_another_reason() -> None:
    """`backward()` that is traced, of a loss that is returned, as torch 2.13 says it."""
    call, leak = "Unsupported Tensor.backward() call", "autograd.grad consumed returned tensor's"
    old = finding("GBR010")
    assert remains(old, breaks(call), breaks(leak)) == (
        f"the graph still breaks at this line: {leak}"
    )
    assert remains(old, breaks(call), breaks(call)).endswith(call), "and for the same one"
    assert remains(old, breaks(call, leak), breaks(leak)) == "", "of two, one is gone"
    assert remains(old, breaks(call), breaks(leak, line=8)) == ""
    assert remains(old, breaks(call), breaks()) == ""
    assert remains(finding("ONE001"), breaks(call), breaks(leak)) == ""
    assert remains(finding("GBR010", where=None), breaks(call), breaks(leak)) == ""


@pytest.mark.parametrize(("before", "after", "lives"), [(8, 8, True), (8, 3, False), (0, 1, False)])
def test_a_recompile_lives_on_where_its_function_is_compiled_as_often(
    before: int, after: int, lives: bool
) -> None:
    def compiled(count: int, function: str = "step") -> Report:
        row = {"file": "/srv/train.py", "line": 3, "function": function, "count": count}
        return tabled(recompiles=[row] if count else [])

    said = remains(finding("RCP007"), compiled(before), compiled(after))
    assert said == ("`step` is compiled anew as often as before (8 times)" if lives else "")
    assert remains(finding("RCP007"), compiled(before), compiled(after, "other")) == ""
