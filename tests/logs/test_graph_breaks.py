"""Graph breaks: the form of every version, and what broke the graph."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.grammars import Unreadable
from tracelens.logs.graph_breaks import GraphBreak, GraphBreaks, NotConverted
from tracelens.source import read

STACK = """User code traceback:
  File "/home/ana/proj/train.py", line 69, in <module>
    model(x)
    ^^^^^^^^
  File "/home/ana/proj/model.py", line 7, in forward
    y = x.sin(); print("y")
                 ^^^^^^^^^^
"""
MODERN = f"""Graph break in user code at /home/ana/proj/model.py:7
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, f():

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print`

      The call is here
  Hint: Avoid calling builtin `print`.
  Hint: Please report an issue to PyTorch.

  Developer debug context: builtin print [<class 'ConstantVariable'>] False

 For more details about this graph break, please visit: https://pytorch.org/site/gb/gb0059.html

{STACK}"""


#: Texts of which only the name that they hold is kept.
NAMED = {
    "call_id with args (TensorVariable(),)": "id",
    "'skip function getLogger in file /usr/lib/python3.11/logging/__init__.py'": "getLogger",
    "dynamic shape operator: aten.nonzero.default": "aten.nonzero.default",
}


def graph_break(text: str) -> GraphBreak:
    (record,) = GraphBreaks.parse(text)
    assert isinstance(record, GraphBreak)
    return record


def test_the_true_type_stands_behind_the_wrapper() -> None:
    record = graph_break(MODERN)
    assert (record.file, record.line) == ("/home/ana/proj/model.py", 7)
    assert record.wrapper.startswith("Encountered graph break")
    assert (record.text, record.family) == ("Failed to trace builtin operator", "builtin")
    assert not record.skips_frame
    assert not record.duplicate


def test_what_torch_says_about_it() -> None:
    cause = graph_break(MODERN).cause
    assert cause is not None
    assert cause.at == 3
    assert cause.explanation[0].startswith("Dynamo does not know how")
    assert "The call is here" in cause.explanation
    assert cause.hints == ("Avoid calling builtin `print`.", "Please report an issue to PyTorch.")
    assert cause.context is not None
    assert cause.context.builtin == "print"
    assert cause.site is not None
    assert (cause.site.number, cause.site.url) == (
        "gb0059",
        "https://pytorch.org/site/gb/gb0059.html",
    )


def test_the_stack_is_outermost_first_and_without_carets() -> None:
    assert [(f.line, f.function, f.code) for f in graph_break(MODERN).stack] == [
        (69, "<module>", "model(x)"),
        (7, "forward", 'y = x.sin(); print("y")'),
    ]


def test_a_record_may_hold_two_breaks_of_which_the_first_is_the_cause() -> None:
    record = graph_break(
        "Graph break in user code at /home/ana/proj/m.py:41\n"
        "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and "
        "falling back to eager. Graph break encountered:\n\n"
        "Data-dependent branching\n  Explanation: Detected.\n\n"
        " For more details about this graph break, please visit: https://a/gb/gb0170.html\n\n"
        "*** While handling this graph break, another graph break occurred: ***\n\n"
        "graph break in loop\n  Explanation: torch.compile detected a graph break in a loop.\n\n"
        "  Developer debug context: frame skipped: g (/home/ana/proj/m.py line 38)\n\n"
        " For more details about this graph break, please visit: https://a/gb/gb7000.html\n\n"
        'Stack variable source attribution:\n  A() originated from:\n  File "/m.py", line 3\n\n'
        + STACK
    )
    assert [cause.family for cause in record.causes] == ["branch", "loop"]
    assert record.skips_frame
    assert record.gb == "gb0170"
    lost = record.causes[1].context
    assert lost is not None
    assert (lost.function, lost.line) == ("g", 38)
    assert len(record.stack) == 2


@pytest.mark.parametrize("words", ["user stack suppressed due to duplicate graph break", "details"])
def test_a_duplicate_has_no_stack(words: str) -> None:
    record = graph_break(
        f"Graph break ({words}) in user code at /m.py:3\nReason: Data-dependent jump"
    )
    assert record.duplicate
    assert (record.file, record.line, record.family) == ("/m.py", 3, "branch")


def test_torch_2_6_and_its_reason() -> None:
    record = graph_break(
        "Graph break in user code at /home/ana/proj/m.py:7\n"
        "Reason: Unsupported: builtin: print [<class 'ConstantVariable'>] False\n" + STACK
    )
    assert (record.family, record.text) == ("builtin", "print")


OLD = '  File "/home/ana/proj/m.py", line 8, in f\n    s = x.sum().item()\n'
INTERNAL = (
    "Traceback (most recent call last):\n"
    '  File "/home/ana/venv/torch/_dynamo/exc.py", line 221, in unimplemented\n'
    "    raise Unsupported(msg)\n"
    "torch._dynamo.exc.Unsupported: "
)


def test_torch_2_4_gives_the_reason_at_the_end_of_its_own_traceback() -> None:
    record = graph_break(f"Graph break: from user code at:\n{OLD}{INTERNAL}Tensor.item")
    assert (record.file, record.line, record.family) == ("/home/ana/proj/m.py", 8, "scalar")
    assert [frame.function for frame in record.stack] == ["f"]


def test_a_skipped_frame_of_torch_2_8_explains_itself_in_the_traceback() -> None:
    record = graph_break(
        f"Graph break: skip: from user code at:\n{OLD}{INTERNAL}Unsupported context manager\n"
        "  Explanation: Dynamo does not know how.\n  Hint: Avoid it.\n\n\n"
        'from user code:\n   File "/home/ana/proj/m.py", line 8, in f\n\nSet TORCHDYNAMO_VERBOSE=1'
    )
    assert record.skips_frame
    assert record.family == "context_manager"
    assert record.cause is not None
    assert record.cause.hints == ("Avoid it.",)


def test_a_skip_of_torch_2_11_names_the_frame_first() -> None:
    record = graph_break(
        "Graph break: torch.compile cannot properly resume from this graph break, which results in "
        "a skip.\ntorch.compile will skip tracing the frame f (/m.py line 3) and fall back to "
        f"eager.\nThe graph break occurred in the following user code:\n{OLD}{INTERNAL}Tensor.item"
    )
    assert record.skips_frame
    assert (record.line, record.family) == (8, "scalar")
    assert record.skipped is not None
    assert (record.skipped.function, record.skipped.file, record.skipped.line) == ("f", "/m.py", 3)


def test_torch_2_1_in_one_line() -> None:
    record = graph_break(
        f"Graph break: call_function BuiltinVariable(print) [] {{}} from user code at:\n{OLD}"
    )
    assert (record.family, record.text, record.line) == ("builtin", "print", 8)


def test_item_is_announced_by_a_warning_of_its_own() -> None:
    record = graph_break(
        "Graph break from `Tensor.item()`, consider setting:\n"
        "    torch._dynamo.config.capture_scalar_outputs = True\nor:\n    env A=1\n"
        f"to include these operations in the graph.\n\nGraph break: from user code at:\n{OLD}"
    )
    assert record.announced
    assert (record.family, record.line) == ("scalar", 8)


def test_an_error_that_was_suppressed() -> None:
    (record,) = GraphBreaks.parse(
        "WON'T CONVERT forward /home/ana/proj/m.py line 5\n"
        "========== TorchDynamo Stack Trace ==========\nTraceback (most recent call last):\n"
        "torch._dynamo.exc.BackendCompilerFailed: 'inductor' raised:\nRuntimeError: no kernel"
    )
    assert isinstance(record, NotConverted)
    assert (record.function, record.line) == ("forward", 5)
    assert record.error == "RuntimeError: no kernel"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("Tensor.item", "scalar"),
        ("Input tensor for tolist must be an integer tensor", "scalar"),
        ("Tensor.tolist() with non-integer tensor", "scalar"),
        ("data dependent operator: aten._local_scalar_dense.default; to enable", "scalar"),
        ("Data dependent operator", "data_dependent"),
        ("generic_jump TensorVariable()", "branch"),
        ("Data-dependent assertion failed (cannot compile partial graph)", "branch"),
        ("call_id with args (TensorVariable(),)", "builtin"),
        ("Call to a time function", "clock"),
        ("'skip function graph_break in file /torch/_dynamo/decorators.py'", "explicit"),
        ("'skip function getLogger in file /usr/lib/python3.11/logging/__init__.py'", "skipped"),
        ("Attempted to call function marked as skipped", "skipped"),
        ("logging.Logger method not supported for non-export cases", "logger"),
        ("dynamic shape operator: aten.nonzero.default", "dynamic_shape"),
        ("Skip calling `torch.compiler.disable()`d function", "disabled"),
        ("Attempted to wrap RNN, GRU, or LSTM", "recurrent"),
        ("Unsupported Tensor.backward() call", "autograd"),
        ("Something that torch invents tomorrow", "other"),
    ],
)
def test_the_family_is_the_same_in_every_version(text: str, family: str) -> None:
    record = graph_break(f"Graph break in user code at /m.py:3\nReason: Unsupported: {text}")
    assert record.family == family
    assert record.text == NAMED.get(text, text)


def test_a_local_scalar_is_a_scalar_whatever_it_is_called() -> None:
    record = graph_break(
        "Graph break in user code at /m.py:3\nGraph Break Reason: Data dependent operator\n\n"
        "  Developer debug context: aten._local_scalar_dense.default"
    )
    assert record.family == "scalar"


@pytest.mark.parametrize("text", ["Graph break", "Graph break in user code at /m.py:3", "print"])
def test_what_is_no_graph_break_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        GraphBreaks.parse(text)


#: How many records each function of the program leaves in torch 2.13.
RECORDS = {
    "g_print": 1,
    "g_item": 1,
    "g_branch": 1,
    "g_tolist": 1,
    "g_explicit": 1,
    "g_logging": 2,
    "g_warn": 1,
    "g_time": 1,
    "g_numpy_save": 1,
    "g_open": 2,
    "g_try": 1,
    "g_gen": 0,
    "g_ctx": 1,  # with two causes
    "g_nested": 3,
    "g_disable": 1,
    "g_nonzero": 1,
    "g_mask": 1,
    "g_loop": 1,
    "g_deepcopy": 1,
    "g_dataptr": 1,
    "g_random": 1,
    "g_setattr_class": 0,
    "g_cext": 0,
    "g_backward": 3,
    "g_assert": 0,
    "g_id": 0,
    "g_frame": 1,
    "g_hook": 3,
    "g_inline_print": 3,
}


@needs_corpus
def test_each_function_of_a_program_breaks_as_often_as_it_does() -> None:
    (case,) = cases("2.13.0/breaks_all_eager_backend")
    path = log_of(case)
    lines = gzip.decompress(Path(path).read_bytes()).decode().split("\n")
    marks = [
        (number, line.removeprefix("## case "))
        for number, line in enumerate(lines, 1)
        if line.startswith("## case ")
    ]
    evidence, _ = read([path])
    seen: Counter[str] = Counter()
    for place, row in evidence.table(GraphBreak).events():
        if not row.record.announced and place.line < marks[-1][0]:
            seen[[name for number, name in marks if number < place.line][-1]] += 1
    assert {name: seen[name] for name in RECORDS} == RECORDS


@needs_corpus
@pytest.mark.parametrize(
    ("name", "records", "places", "skipped"),
    [
        ("detr_hungarian", 46, 10, 8),
        ("pyg_gcn_gat", 26, 3, 0),
        ("gpt2_train_autocast", 8, 2, 0),
        ("gpt2_train_fixed", 2, 1, 0),
        ("lstm_lm_bptt", 1, 1, 1),
    ],
)
def test_the_table_adds_up_to_what_an_expert_counted(
    name: str, records: int, places: int, skipped: int
) -> None:
    (case,) = cases(f"real/{name}")
    evidence, _ = read([log_of(case)])
    rows = GraphBreaks.tables(evidence)["graph_breaks"]
    assert sum(row["count"] for row in rows) == records
    assert len({(row["file"], row["line"]) for row in rows}) == places
    assert sum(row["frames_skipped"] for row in rows) == skipped


@needs_corpus
@pytest.mark.parametrize(
    "pattern", ["*/art_graph_breaks", "*/breaks_all*", "*/model_detector*", "*/app_*", "real/*"]
)
def test_every_graph_break_of_the_corpus_is_read(pattern: str) -> None:
    for case in cases(pattern):
        evidence, _ = read([log_of(case)])
        refused = [unread.text for unread in evidence.unread if unread.kind == "graph_breaks"]
        assert refused == [] or "wrap120" in case.name, case


def told(kind: str, context: str = "", file: str = "/home/ana/proj/model.py") -> GraphBreak:
    """Return a break as torch 2.13 writes it."""
    return graph_break(
        f"Graph break in user code at {file}:7\nGraph Break Reason: {kind}\n"
        f"  Explanation: something\n\n  Developer debug context: {context}\n"
    )


@pytest.mark.parametrize(
    ("kind", "context", "family"),
    [
        ("setattr() on Tensor.requires_grad", "setattr(TensorVariable(), requires_grad, x)", "a"),
        ("Failed to mutate tensor data attribute", "setattr(TensorVariable(), data, x)", "a"),
        ("Operator does not support running with fake tensors", "", "f"),
        ("RuntimeError when making fake tensor call", "", "f"),
        ("unsupported operator: ana.smooth.default (see the manual)", "", "f"),
        ("Tensor.random_ op", "Tensor.random_(args=[], kwargs={})", "r"),
        (
            "Unsupported method call",
            "call_method UserDefinedObjectVariable(RandomState) rand [] {}",
            "r",
        ),
        (
            "Attempted to call function marked as skipped",
            "module: <unknown module>, qualname: Random.random, skip reason: none",
            "r",
        ),
        ("Unsupported method call", "call_method UserDefinedObjectVariable(Lock) wait [] {}", "o"),
        ("Generator reconstruction with mutations", "mutating object: iterator", "o"),
    ],
)
def test_the_family_of_rarer_breaks(kind: str, context: str, family: str) -> None:
    names = {"a": "attribute", "f": "fake", "r": "random", "o": "other"}
    assert told(kind, context).family == names[family]


@pytest.mark.parametrize(
    ("context", "field", "value"),
    [
        ("unsupported operator: ana.smooth.default", "unsupported", "ana.smooth.default"),
        ("setattr(TensorVariable(), requires_grad, ConstantVariable(bool: True))",
         "attribute_name", "requires_grad"),
        ("setattr(UserDefinedClassVariable(<class 'a.B'>), ConstantVariable(str: 'n'), x)",
         "attribute_name", "n"),
        ("call_method UserDefinedObjectVariable(RandomState) rand [] {}", "state",
         "RandomState.rand"),
        ("call_method UserDefinedClassVariable(<class 'numpy.random.mtrand.RandomState'>) __new__",
         "state", "RandomState"),
        ("numpy function: <cyfunction default_rng at 0x7faaf1eaba00>, args: []", "state",
         "default_rng"),
        ("Opaque object type: <class 'torch._C.Generator'>.", "state", "Generator"),
    ],
)  # fmt: skip
def test_what_the_context_names(context: str, field: str, value: str) -> None:
    cause = told("Unsupported method call", context).cause
    assert cause is not None
    assert cause.context is not None
    assert getattr(cause.context, field) == value


def test_breaks_of_the_data_parallel_wrapper_are_its_own() -> None:
    skipped = "Attempted to call function marked as skipped"
    context = "module: torch.nn, qualname: DistributedDataParallel._inside_ddp_forward, skip: file"
    assert told(skipped, context, "/usr/lib/python3.11/contextlib.py").family == "ddp"
    wrapper = "/home/ana/venv/lib/python3.11/site-packages/torch/nn/parallel/distributed.py"
    assert told("Unsupported method call", "call_method", wrapper).family == "ddp"
    assert told(skipped, context.replace("DistributedDataParallel", "Pool")).family == "skipped"


@pytest.mark.parametrize(
    ("error", "soft"),
    [
        ("torch._dynamo.exc.Unsupported: Attempt to trace generator", True),
        ("torch._dynamo.exc.CacheLimitExceeded: cache_size_limit reached", True),
        ("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", False),
        ("RuntimeError: Unsupported: no kernel", False),
    ],
)
def test_what_dynamo_leaves_out_by_itself(error: str, soft: bool) -> None:
    (record,) = GraphBreaks.parse(
        "WON'T CONVERT forward /home/ana/proj/model.py line 5\ndue to:\n"
        "Traceback (most recent call last):\n"
        '  File "/home/ana/venv/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py", '
        f"line 9, in compile\n    raise error\n{error}"
    )
    assert isinstance(record, NotConverted)
    assert record.error == error
    assert record.is_soft is soft


CUT = """    torch._dynamo.config.capture_scalar_outputs = True
or:
    env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1
to include these operations in the captured graph.

Graph break: from user code at:
  File "/home/ana/proj/model.py", line 8, in forward
    s = x.sum().item()"""
PREFIX = "W0906 20:38:55.305000 5696 torch/_dynamo/variables/tensor.py:1047] [7/0] "


@pytest.mark.parametrize("prefix", ["", PREFIX, f"[rank1]:{PREFIX}"])
def test_an_announcement_without_its_first_line_is_one(prefix: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("".join(f"{prefix}{line}\n" for line in CUT.split("\n")))
    evidence, _ = read([str(log)])
    (row,) = evidence.table(GraphBreak)
    assert (row.record.family, row.record.line) == ("scalar", 8)
    assert row.record.announced


def test_a_program_that_sets_it_has_no_break(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(f"We set this:\n{CUT.split(chr(10), 1)[0]}\nand it was slow\n")
    evidence, _ = read([str(log)])
    assert not len(evidence.table(GraphBreak))


class _Unread(list[bytes]):
    """Lines of which only the first may be looked at."""

    def __contains__(self, line: object) -> bool:
        raise AssertionError(line)

    def __iter__(self) -> Iterator[bytes]:
        raise AssertionError


def test_the_line_of_a_frame_is_judged_without_those_above_it() -> None:
    """Else a long traceback takes the square of its lines."""
    body = _Unread([b"Graph break: from user code at:", b"Traceback (most recent call last):"])
    assert not GraphBreaks.encloses(body, '  File "/home/ana/proj/a.py", line 3, in g')
    assert GraphBreaks.encloses(list(list.__iter__(body)), "torch._dynamo.exc.Unsupported: x")
