"""Recompiles: the form of every version, and what each guard checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens import grammars
from tracelens.grammars import Unreadable
from tracelens.logs.recompiles import (
    Aliasing,
    Check,
    Deallocated,
    Expression,
    GlobalState,
    GuardFailure,
    IdentityCheck,
    KeysCheck,
    LengthCheck,
    RangeCheck,
    Recompile,
    Recompiles,
    Relation,
    Source,
    TensorMismatch,
    TypeCheck,
    Unexplained,
    ValueCheck,
)
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures"
HEAD = "Recompiling function fn in /home/ana/proj/model.py:8"
TRIGGERED = "    triggered by the following guard failure(s):"
MODERN = f"""{HEAD}
{TRIGGERED}
    - 0/1: 0 <= n  # if n >= 0:  # proj/model.py:10 in fn (_dynamo/variables/tensor.py:2606 in ev)
    - 0/0: n == 2                              # if n >= 0:  # proj/model.py:10 in fn
    - User stack trace:
    -   File "/home/ana/proj/train.py", line 3, in <module>
    -     fn(x, 2)
    -   File "/home/ana/proj/model.py", line 10, in fn
    -     if n >= 0:"""


def recompile(text: str) -> Recompile:
    (record,) = Recompiles.parse(text)
    assert isinstance(record, Recompile)
    return record


def failure(line: str) -> GuardFailure:
    (found,) = recompile(f"{HEAD}\n{TRIGGERED}\n    - {line}").failures
    return found


def test_the_function_and_every_entry_that_failed() -> None:
    record = recompile(MODERN)
    assert (record.function, record.file, record.line) == ("fn", "/home/ana/proj/model.py", 8)
    assert [f.entry for f in record.failures] == ["0/1", "0/0"]
    assert [f.number for f in record.failures] == [1, 0]
    assert [f.at for f in record.failures] == [2, 3]


def test_the_comment_and_the_stack_belong_to_their_guard() -> None:
    first, second = recompile(MODERN).failures
    assert first.comment is not None
    assert first.comment.code == "if n >= 0:"
    assert (first.comment.file, first.comment.line) == ("proj/model.py", 10)
    assert first.comment.function == "fn"
    assert first.comment.origin == "(_dynamo/variables/tensor.py:2606 in ev)"
    assert first.stack == ()
    assert [(f.line, f.function, f.code) for f in second.stack] == [
        (3, "<module>", "fn(x, 2)"),
        (10, "fn", "if n >= 0:"),
    ]


@pytest.mark.parametrize(
    ("line", "entry"),
    [("0/0: n == 2", "0/0"), ("0/0: L['n'] == 2", "0/0"), ("L['n'] == 2", "")],
    ids=["2.7", "2.5", "2.4"],
)
def test_names_are_the_same_in_every_version(line: str, entry: str) -> None:
    found = failure(line)
    assert found.entry == entry
    assert isinstance(found.check, ValueCheck)
    assert str(found.check.source) == "n"
    assert found.check.source.is_variable
    assert found.check.integer == 2


def test_torch_2_1_prints_a_python_tuple() -> None:
    record = recompile(
        "('Recompiling function f in /home/ana/proj/model.py:3', "
        "\"triggered by the following guard failure: L['d']['a'] == 'x'\")"
    )
    assert (record.file, record.line) == ("/home/ana/proj/model.py", 3)
    (found,) = record.failures
    assert isinstance(found.check, ValueCheck)
    assert (str(found.check.source), found.check.string) == ("d['a']", "'x'")


def test_the_verbose_form_has_groups() -> None:
    record = recompile(
        f"{HEAD}\n{TRIGGERED}\n    guard 0 failures:\n    - 0/1: n <= 2\n\n"
        "    guard 1 failures:\n    - 0/0: n == 2  "
    )
    assert [f.entry for f in record.failures] == ["0/1", "0/0"]


def test_the_newest_entry_is_not_the_first_line() -> None:
    record = recompile(
        f"{HEAD}\n{TRIGGERED}\n    - 0/1: not args\n    - 0/2: n == 4\n    - 0/0: n == 1"
    )
    assert record.newest is not None
    assert record.newest.entry == "0/2"


X = Source(name="x")
CHECKS: list[tuple[str, Check]] = [
    (
        "tensor 'x' size mismatch at index 0. expected 4, actual 8",
        TensorMismatch(source=X, what="size", index=0, expected="4", actual="8"),
    ),
    (
        "tensor 'kwargs['labels'][0]['boxes']' size mismatch at index 1. expected 2, actual 3",
        TensorMismatch(
            source=Source(name="kwargs", path="['labels'][0]['boxes']"),
            what="size",
            index=1,
            expected="2",
            actual="3",
        ),
    ),
    (
        "tensor 'm._w['w']' size mismatch at index 0. expected 4, actual 5. Failed on a parameter",
        TensorMismatch(
            source=Source(name="m", path="._w['w']"),
            what="size",
            index=0,
            expected="4",
            actual="5",
            note=". Failed on a parameter",
        ),
    ),
    (
        "tensor 'L['x']' stride mismatch at index 1. expected 16, actual 208",
        TensorMismatch(
            source=Source(scope="L", name="x"),
            what="stride",
            index=1,
            expected="16",
            actual="208",
        ),
    ),
    (
        "tensor 'x' dtype mismatch. expected Float, actual BFloat16",
        TensorMismatch(source=X, what="dtype", expected="Float", actual="BFloat16"),
    ),
    (
        "tensor 'x' rank mismatch. expected 1, actual 2",
        TensorMismatch(source=X, what="rank", expected="1", actual="2"),
    ),
    (
        "tensor 'x' requires_grad mismatch. expected requires_grad=0",
        TensorMismatch(source=X, what="requires_grad", expected="requires_grad=0"),
    ),
    (
        "tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, Meta), actual None",
        TensorMismatch(
            source=X,
            what="dispatch key set",
            expected="DispatchKeySet(CPU, Meta)",
            actual="None",
        ),
    ),
    (
        "tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1",
        TensorMismatch(source=X, what="Tensor device index", expected="0", actual="1"),
    ),
    ("n == -3", ValueCheck(source=Source(name="n"), integer=-3)),
    ("s == 0.5", ValueCheck(source=Source(name="s"), number=0.5)),
    ("G['G'] == 1", ValueCheck(source=Source(scope="G", name="G"), integer=1)),
    (
        "self.param_groups[0]['lr'] == 0.0006",
        ValueCheck(source=Source(name="self", path=".param_groups[0]['lr']"), number=0.0006),
    ),
    ("how == 'sum'", ValueCheck(source=Source(name="how"), string="'sum'")),
    ("s == 'a <= b'", ValueCheck(source=Source(name="s"), string="'a <= b'")),
    ("o == True", ValueCheck(source=Source(name="o"), constant="True")),
    ("cache is None", ValueCheck(source=Source(name="cache"), operator="is", constant="None")),
    ("d == torch.float32", ValueCheck(source=Source(name="d"), other="torch.float32")),
    ("0 <= n", RangeCheck(low=0, subject="n")),
    ("2 <= x.size()[0] <= 1022", RangeCheck(low=2, subject="x.size()[0]", high=1022)),
    ('Duplicate tensors found: ["a", "b"]', Aliasing(names='["a", "b"]')),
    ("Duplicate tensors found: ['a', 'b'], ['c', 'd']", Aliasing(names="['a', 'b'], ['c', 'd']")),
    ("Duplicate tensor found where not expected!", Aliasing()),
    ("k <= 2", Relation(left="k", comparison="<=", right="2")),
    (
        "((ids.size()[1] // 4) % 2) == 0",
        Relation(left="((ids.size()[1] // 4) % 2)", comparison="==", right="0"),
    ),
    (
        "t[1].size()[0] == 6 + ((-1)*t[0].size()[0])",
        Relation(left="t[1].size()[0]", comparison="==", right="6 + ((-1)*t[0].size()[0])"),
    ),
    (
        "___check_obj_id(func.__code__, 94296119093600), type=<class 'code'>",
        IdentityCheck(
            source=Source(name="func", path=".__code__"),
            object_id=94296119093600,
            held="<class 'code'>",
        ),
    ),
    (
        "Cache line invalidated because L['self']._modules['a'] got deallocated",
        Deallocated(source=Source(scope="L", name="self", path="._modules['a']")),
    ),
    (
        "Cache line invalidated because the cache got deallocated again",
        Expression(text="Cache line invalidated because the cache got deallocated again"),
    ),
    (
        "___check_type_id(L['k'], 140385116847328)",
        TypeCheck(source=Source(scope="L", name="k"), object_id=140385116847328),
    ),
    (
        "expected type of 'kwargs['c'].keys' to be a tensor type, ' but found <class 'NoneType'>",
        TypeCheck(source=Source(name="kwargs", path="['c'].keys"), found="<class 'NoneType'>"),
    ),
    ("len(xs) == 1", LengthCheck(source=Source(name="xs"), length=1)),
    ("len(d) != 2", LengthCheck(source=Source(name="d"), operator="!=", length=2)),
    ("not args", LengthCheck(source=Source(name="args"))),
    ("list(dict.keys(d))[0] == 'a'", KeysCheck(source=Source(name="d"), expected="'a'")),
    (
        "not ___dict_contains('forward', self.__dict__)",
        KeysCheck(source=Source(name="self", path=".__dict__"), key="'forward'", lacks="not "),
    ),
    (
        "not ___dict_contains(((2, 12), device(type='cpu'), False), self._modules['1'].cache)",
        KeysCheck(
            source=Source(name="self", path="._modules['1'].cache"),
            key="((2, 12), device(type='cpu'), False)",
            lacks="not ",
        ),
    ),
    ("___dict_contains((8, 8), cache)", KeysCheck(source=Source(name="cache"), key="(8, 8)")),
    (
        "not ___dict_contains(f(8, 8), cache)",
        Expression(text="not ___dict_contains(f(8, 8), cache)"),
    ),
    ("GLOBAL_STATE changed: grad_mode ", GlobalState(changed=("grad_mode",))),
    (
        "GLOBAL_STATE changed: grad_mode autocast(cpu)_enabled ",
        GlobalState(changed=("grad_mode", "autocast(cpu)_enabled")),
    ),
    ("___check_global_state()", GlobalState()),
    (
        "Unexpected recompilation: no guard",
        Unexplained(reason="Unexpected recompilation: no guard"),
    ),
    ("BACKEND_MATCH failure: other", Unexplained(reason="BACKEND_MATCH failure: other")),
    ("some_new_guard(x, mode=3) -> y", Expression(text="some_new_guard(x, mode=3) -> y")),
    ("check(f(x < 3, y=2), 'a')", Expression(text="check(f(x < 3, y=2), 'a')")),
]


@pytest.mark.parametrize(("text", "check"), CHECKS, ids=[text[:40] for text, _ in CHECKS])
def test_what_a_guard_checks_is_typed(text: str, check: Check) -> None:
    assert failure(f"0/0: {text}").check == check


def test_zero_one_specialisation_is_told_from_a_branch() -> None:
    found = failure(
        "0/1: 2 <= x.size()[0]  # y = x * 2  # proj/model.py:9 in fn (user code shown is first use "
        "of this value--the guard itself is not due user code but due to 0/1 specialization in the "
        "framework; to avoid specialization try torch._dynamo.mark_unbacked(tensor, dim))"
    )
    assert found.comment is not None
    assert found.comment.zero_one
    assert found.comment.code == "y = x * 2"


@pytest.mark.parametrize("gap", ["  # self.n += 1  # proj/m.py:4 in f ", "             "])
def test_a_hint_stands_after_the_comment_or_after_the_guard(gap: str) -> None:
    found = failure(f"0/0: self.n == 0{gap}(HINT: integer attributes are static.)")
    told = found.hint or (found.comment.hint if found.comment else "")
    assert told == "(HINT: integer attributes are static.)"


def test_user_code_may_hold_a_comment() -> None:
    comment = failure("0/0: n == 2   # x = n  # why: not  # proj/m.py:4 in f").comment
    assert comment is not None
    assert (comment.code, comment.file) == ("x = n  # why: not", "proj/m.py")


def test_a_reason_may_be_missing() -> None:
    assert failure("0/0: ").check is None


@pytest.mark.parametrize("text", ["fake record from the application", "Recompiling", HEAD[:30]])
def test_what_is_no_recompile_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        Recompiles.parse(text)


def test_one_recompile_costs_twenty_tokens() -> None:
    grammar = grammars.load(Recompiles.name, Recompiles.__module__)
    assert grammar.tokens(MODERN) == 22


def test_the_table_counts_by_function() -> None:
    evidence, _ = read([str(FIXTURES / "logs" / "recompiles" / "fn-x-n.log")])
    (row,) = Recompiles.tables(evidence)["recompiles"]
    assert row == {
        "frame": "0",
        "function": "fn",
        "file": "/home/ana/proj/recompiles.py",
        "line": 8,
        "count": 2,
        "causes": ["n == 2", "0 <= n"],
    }
    assert json.loads(json.dumps(row)) == row


LOGGED = (
    "*/art_recompiles*",
    "*/recompiles*",
    "*/no_logs_recompile_limit",
    "2.13.0/app_*",
    "2.13.0/kitchen_sink",
    "2.13.0/model_decoder_rg",
    "2.13.0/seed003*",
    "real/*",
)


@needs_corpus
@pytest.mark.parametrize("pattern", LOGGED)
def test_every_recompile_of_the_corpus_is_read(pattern: str) -> None:
    for case in cases(pattern):
        evidence, _ = read([log_of(case)])
        kinds = {"recompiles", "recompile_limits"}
        refused = [unread.text for unread in evidence.unread if unread.kind in kinds]
        # A program that prints a lookalike, and lines that a terminal cut in two.
        assert [t for t in refused if "fake" not in t and "wrap120" not in case.name] == [], case


@needs_corpus
@pytest.mark.parametrize(
    "name",
    [
        "bert_roberta_ragged",
        "gpt2_train_autocast",
        "hf_trainer_5steps",
        "llama_dynamic_none",
        "pyg_gcn_gat",
        "unet_denoise",
        "whisper_generate",
        "xtransformers_lm",
    ],
)
def test_there_are_as_many_as_dynamo_compiled(name: str) -> None:
    (case,) = cases(f"real/{name}")
    evidence, _ = read([log_of(case)])
    seen = sorted(place.frame for place, _ in evidence.table(Recompile).events())
    assert seen == sorted(
        entry["compile_id"]
        for entry in truth(case)["compilation_metrics"]
        if entry.get("co_name") and not entry["compile_id"].endswith("/0")
    )


@pytest.mark.parametrize(
    ("line", "dimension", "is_zero_one"),
    [
        ("2 <= x.size()[0]", ("x", 0), True),
        ("2 <= d['a'].size()[13]", ("d['a']", 13), True),
        # An upper bound says more than that the size is neither 0 nor 1.
        ("2 <= d['a'].size()[13] <= 1022", ("d['a']", 13), False),
        ("3 <= x.size()[1]", ("x", 1), False),
        ("2 <= n", None, False),
        ("2 <= x.size()[0] + 1", None, False),
    ],
)
def test_a_range_knows_the_dimension_whose_size_it_bounds(
    line: str, dimension: tuple[str, int] | None, is_zero_one: bool
) -> None:
    check = failure(f"0/0: {line}").check
    assert isinstance(check, RangeCheck)
    assert check.dimension == dimension
    assert check.is_zero_one is is_zero_one


def test_a_mark_on_a_tensor_is_no_value() -> None:
    reason = "_dynamo_static_indices should be absent but is present on runtime tensor"
    (record,) = Recompiles.parse(
        "Recompiling function f in /home/ana/proj/model.py:3\n"
        "    triggered by the following guard failure(s):\n"
        f"    - 1/0: {reason}"
    )
    assert isinstance(record, Recompile)
    assert record.failures[0].check == Expression(text=reason)


def test_the_value_that_came_instead_is_no_part_of_the_guard() -> None:
    text = (
        "('Recompiling function run in /home/ana/proj/model.py:8', "
        "\"triggered by the following guard failure: L['n'] == 3, with LHS value: 4\")"
    )
    (record,) = Recompiles.parse(text)
    assert isinstance(record, Recompile)
    (failure,) = record.failures
    assert isinstance(failure.check, ValueCheck)
    assert (str(failure.check.source), failure.check.integer) == ("n", 3)
