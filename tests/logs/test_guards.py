"""Guards: trees and flat lists, what each node checks, and how long the check takes."""

from __future__ import annotations

import json
import time

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens import grammars
from tracelens.grammars import Unreadable
from tracelens.logs.guards import Guard, GuardLatency, Guards, GuardTree
from tracelens.source import read

TREE = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GLOBAL_STATE: ___check_global_state() against {"allow_tf32":false,"grad_mode":true}
| +- GuardManager: source=L['n'], accessed_by=FrameLocalsGuardAccessor(key='n'), type=<class 'int'>
| | +- EQUALS_MATCH: L['n'] == 2                           # if n >= 0:  # proj/model.py:10 in fn
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x'), tag_safe=(False, F)
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, size=[200])  # y = x ** 2  # proj/model.py:9 in fn
| | +- NO_TENSOR_ALIASING
| +- GuardManager: source=G, accessed_by=GlobalsGuardAccessor, type=<class 'dict'>
| | +- GuardManager: source=G['m'].bias, accessed_by=A('bias'), type=Parameter containing:
tensor([ 0.1216, -0.0679,
         0.0542], requires_grad=True), tag_safe=(False, False)
| | | +- ID_MATCH: ___check_obj_id(G['m'].bias, 139970574627312), type=<class 'module'>
| | +- DictGuardManager: source=G['m']._modules, accessed_by=B('_modules')
| | | +- KeyValueManager pair at index=0
| | | | +- KeyManager: GuardManager: source=list(dict.keys(G['m']._modules))[0]
| | | | | +- EQUALS_MATCH: list(dict.keys(G['m']._modules))[0] == 'a'
+- LAMBDA_GUARD: 0 <= L['n']  # if n >= 0:  # proj/model.py:10 in fn (_dynamo/a/t.py:26 in e)
"""


def tree(text: str) -> GuardTree:
    (record,) = Guards.parse(text)
    assert isinstance(record, GuardTree)
    return record


def test_depth_and_kind_of_every_node() -> None:
    nodes = [(guard.depth, guard.kind) for guard in tree(TREE).guards]
    assert nodes == [
        (0, "RootGuardManager"),
        (1, "GLOBAL_STATE"),
        (1, "GuardManager"),
        (2, "EQUALS_MATCH"),
        (1, "GuardManager"),
        (2, "TENSOR_MATCH"),
        (2, "NO_TENSOR_ALIASING"),
        (1, "GuardManager"),
        (2, "GuardManager"),
        (3, "ID_MATCH"),
        (2, "DictGuardManager"),
        (3, "KeyValueManager"),
        (4, "KeyManager: GuardManager"),
        (5, "EQUALS_MATCH"),
        (0, "LAMBDA_GUARD"),
    ]


def test_managers_lead_and_guards_check() -> None:
    record = tree(TREE)
    assert record.count == 7
    assert [(source, guard.kind) for source, guard in record.checks()] == [
        ("", "GLOBAL_STATE"),
        ("L['n']", "EQUALS_MATCH"),
        ("L['x']", "TENSOR_MATCH"),
        ("L['x']", "NO_TENSOR_ALIASING"),
        ("G['m'].bias", "ID_MATCH"),
        ("list(dict.keys(G['m']._modules))[0]", "EQUALS_MATCH"),
        ("", "LAMBDA_GUARD"),
    ]


def test_a_guard_names_the_line_that_needs_it() -> None:
    guard = tree(TREE).guards[3]
    assert guard.expression == "L['n'] == 2"
    assert guard.comment is not None
    assert guard.comment.code == "if n >= 0:"
    assert (guard.comment.file, guard.comment.line) == ("proj/model.py", 10)
    assert tree(TREE).guards[-1].comment is not None


def test_the_ambient_state_is_kept_as_text() -> None:
    assert '{"allow_tf32":false,"grad_mode":true}' in tree(TREE).guards[1].expression


def test_ids_of_objects_do_not_tell_two_trees_apart() -> None:
    assert tree(TREE) == tree(TREE.replace("139970574627312", "94296119093600"))
    assert tree(TREE) != tree(TREE.replace("size=[200]", "size=[201]"))


def test_torch_2_1_prints_a_list_in_pieces() -> None:
    lines = [
        "___check_type_id(L['k'], 140385116847328)                # y = x * k  # proj/m.py:4 in f",
        "L['k'] == 2                                              # y = x * k  # proj/m.py:4 in f",
    ]
    for text in ("\n".join(["GUARDS:", *lines]), "\n".join(lines)):
        guards = tree(text).guards
        assert [guard.expression for guard in guards] == [
            "___check_type_id(L['k'], 0)",
            "L['k'] == 2",
        ]
        assert tree(text).count == 2
        assert guards[1].comment is not None
        assert guards[1].comment.function == "f"


@pytest.mark.parametrize(("text", "us"), [("87.26", 87.26), ("0", 0.0), ("1e-05", 1e-05)])
def test_the_latency_is_a_record_of_its_own(text: str, us: float) -> None:
    assert Guards.parse(f"Guard eval latency = {text} us") == (GuardLatency(us=us),)


@pytest.mark.parametrize(
    "text", ["GUARDS:", "Python shape guard function:\ndef f():\n    return 1", "GUARDS: "]
)
def test_texts_that_say_nothing(text: str) -> None:
    assert Guards.parse(text) == ()


@pytest.mark.parametrize("text", ["a new kind of guard record", "+- RootGuardManager"])
def test_what_is_unknown_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        Guards.parse(text)


def test_a_node_costs_one_token_in_the_tree() -> None:
    grammar = grammars.load(Guards.name, Guards.__module__)
    nodes, dumped, blank = 15, 2, 1
    assert grammar.tokens(Guards.mask(TREE)) == 1 + nodes + dumped + blank


def test_a_tree_of_five_thousand_guards_takes_well_under_a_second() -> None:
    lines = [
        f"| | +- TYPE_MATCH: ___check_type_id(L['self'].layers[{n}], 9471{n:010})"
        f", type=<class 'int'>  # x = layer(x)  # proj/model.py:{n} in forward"
        for n in range(5000)
    ]
    text = "\n".join(["TREE_GUARD_MANAGER:", "+- RootGuardManager", *lines])
    start = time.process_time()
    assert tree(text).count == 5000
    assert time.process_time() - start < 1.5


@needs_corpus
@pytest.mark.parametrize(
    "pattern",
    ["*/art_guards", "*/guards_some*", "2.13.0/*guards*", "2.13.0/seed003*", "*/model_*", "real/*"],
)
def test_every_guard_of_the_corpus_is_read(pattern: str) -> None:
    for case in cases(pattern):
        evidence, _ = read([log_of(case)])
        assert [unread.text for unread in evidence.unread if unread.kind == "guards"] == [], case


@needs_corpus
def test_one_tree_and_one_latency_per_compiled_frame() -> None:
    (case,) = cases("2.13.0/seed003_fn_x_n")
    evidence, _ = read([log_of(case)])
    rows = Guards.tables(evidence)["guards"]
    assert sorted((row["frame"], row["latency_us"]) for row in rows) == [
        ("0/0", 87.26),
        ("0/1", 86.30),
        ("0/2", 77.67),
    ]
    assert {row["frame"]: row["guards"] for row in rows} == {"0/0": 11, "0/1": 12, "0/2": 12}


def test_a_tree_is_dumped_with_its_guards() -> None:
    guard = Guard(1, "TENSOR_MATCH", "", "check_tensor(L['x'])", None)
    (dumped,) = json.loads(GuardTree(guards=(guard,)).model_dump_json())["guards"]
    assert (dumped["depth"], dumped["kind"]) == (1, "TENSOR_MATCH")
