"""What a graph cannot hold, and what a program can do that needs it.

Each is the same whichever function the break is in, and whether it is cut or given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tracelens.dynamo.breaks import BreakSite
from tracelens.late import late
from tracelens.remedies import Remedy
from tracelens.rules.gbr._sparse import DENSE_PARTS, EDGE_LIST, is_sparse

if TYPE_CHECKING:
    from tracelens.evidence import Table
    from tracelens.logs.guards import GuardTree

__all__ = [
    "PLAIN_MODULE",
    "SCRIPTED",
    "UNSPECIALIZED",
    "VALUES",
    "attends",
    "counts",
    "is_symbol",
    "is_value",
    "named",
    "old_call",
    "reason_of",
    "takes_no_symbol",
    "value_of",
]

#: How the context of "Failed to convert args/kwargs to proxy" names what has no place in a graph.
_OBJECT = late(r"UserDefinedObjectVariable\((\w{1,100})\)")
_STRIDED = "Attempted to wrap strided NestedTensor"
_NO_PROXY = "Failed to convert args/kwargs to proxy"
_DEFINED = "Invalid call to __build_class__"
_SCRIPT = "torch.jit.script/freeze modules unsupported"
#: What a branch was on that is a number of the graph, and no tensor: a size that the data decides.
_JUMPED = "attempted to jump with "
_SYMBOL = "SymNodeVariable"
#: What Dynamo cannot compare where it steps into ``apply`` of an autograd.Function.
_SETUP = "autograd.Function"
_COMPARED = "GetAttrVariable(AutogradFunctionVariable(), setup_context)"
#: A call in which a number stands before the tensors: torch 1.5 deprecated that.
_OLD_CALL = late(
    r"call_method TensorVariable\(\) ((?:add|sub|addcmul|addcdiv|addmm|addmv|addbmm|baddbmm)_?) "
    r"\[ConstantVariable\((?:float|int): [^\]]{1,40}\), (?:TensorVariable|LazyVariableTracker)"
)
#: An object of a class that Dynamo cannot make, as most of those written in C are.
_MADE = late(
    r"call_(?:method|function) UserDefinedClassVariable\(<class '([\w.]{1,100})'>\) (?:__new__ )?\["
)
#: What an operator that traces a function was given, in the words up to torch 2.6.
_BODY = late(
    r"HigherOrderOperator with body that accepts non-Tensors as input"
    r"(?:\. Got: <class '(?P<given>[\w.]{1,200})'>)?"
)
#: By what name such a call takes its number now.
_NAMED = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
#: What Dynamo calls a number that ``random`` drew in compiled code: it is a tensor to the graph.
UNSPECIALIZED = "UnspecializedPythonVariable"
#: What holds the packed weights of torch.ao.quantization.
SCRIPTED = "ScriptObject"


PLAIN_MODULE = (
    "What is called there is a module of TorchScript (of `torch.jit.script`, `torch.jit.trace` or "
    "`mkldnn_utils.to_mkldnn`), which Dynamo does not look into: compile the module that it was "
    "made of."
)


class _Told(Protocol):
    """What a finding knows of a break."""

    @property
    def reason(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def old_call(self) -> str: ...
    @property
    def package(self) -> str: ...
    @property
    def broken_in(self) -> str: ...
    @property
    def told_at(self) -> str: ...


def value_of(site: BreakSite) -> str:
    """Return the class of what an operator or a branch was given; empty where that is a tensor."""
    cause = site.record.cause
    if cause is None or cause.context is None:
        return ""
    if cause.context.other.startswith(_JUMPED + _SYMBOL):
        return _SYMBOL
    if _COMPARED in cause.context.other:
        return _SETUP
    found = _OBJECT.search(cause.context.other)
    return found[1] if found and site.record.text.startswith(_NO_PROXY) else ""


def old_call(site: BreakSite) -> str:
    """Return the method that is called as torch took it before 1.5: ``add_`` of a number."""
    cause = site.record.cause
    told = cause.context.other if cause is not None and cause.context is not None else ""
    found = _OLD_CALL.match(told) or _OLD_CALL.match(site.record.text)
    return found[1] if found else ""


def reason_of(site: BreakSite) -> str:
    """Return the type of break in torch's words, and the class whose object cannot be made."""
    cause = site.record.cause
    told = cause.context.other if cause is not None and cause.context is not None else ""
    if site.record.text.startswith(_DEFINED):
        return f"{site.record.text} (a class in a function)"
    if _COMPARED in told:
        return f"{site.record.text} (`autograd.Function.setup_context`)"
    made = _MADE.match(told)
    return f"{site.record.text} (making a `{made[1]}`)" if made else site.record.text


def _is_class(data: _Told) -> bool:
    return data.reason.startswith(_DEFINED) and not data.package


def is_symbol(data: _Told) -> bool:
    """Tell whether a branch is on a number that the graph holds, such as the size of a result."""
    return data.value == _SYMBOL


def _is_strided(data: _Told) -> bool:
    return data.reason.startswith(_STRIDED)


def _is_object(data: _Told) -> bool:
    return bool(data.value) and data.value not in {SCRIPTED, _SETUP, _SYMBOL}


def _is_scripted(data: _Told) -> bool:
    return data.value == SCRIPTED


def _is_script(data: _Told) -> bool:
    return data.reason.startswith(_SCRIPT)


def _is_function(data: _Told) -> bool:
    return data.value == _SETUP


def _given(data: _Told) -> str:
    """Return the class of what an operator that traces a function was given, and cannot take."""
    found = _BODY.match(data.reason)
    return (found["given"] or "an object") if found else ""


def _is_given(data: _Told) -> bool:
    return bool(_BODY.match(data.reason))


def _is_plain(data: _Told) -> bool:
    return _is_script(data) and not (data.package or data.broken_in)


def _is_led(data: _Told) -> bool:
    return _is_script(data) and not data.package and bool(data.broken_in and data.told_at)


def _is_old(data: _Told) -> bool:
    return bool(data.old_call)


def _by_name(data: _Told) -> str:
    """Return the call as torch takes it since 1.5."""
    plain = data.old_call.removesuffix("_")
    tensors = (
        "tensor1, tensor2" if plain.startswith("add") and len(plain) > len("add") else "tensor"
    )
    number = _NAMED.get(plain)
    return f"x.{data.old_call}({tensors}, {f'{number}=number' if number else 'beta=number'})"


def is_value(data: _Told) -> bool:
    """Tell whether one of these is what broke the graph."""
    found = (is_sparse, _is_strided, _is_object, _is_scripted, _is_script, _is_old, _is_class)
    return any(is_it(data) for is_it in (*found, _is_function, _is_given))


VALUES = (
    Remedy(
        "number-by-name",
        lambda data: (
            f"`{data.old_call}(Number, Tensor)` is a signature that torch deprecated in 1.5, and "
            "that Dynamo does not trace: give the number by its name, behind the tensors."
        ),
        code=_by_name,
        when="a number before the tensors of `add_`, `addcmul_` ..., in code of your own",
        applies=lambda data: _is_old(data) and not data.package,
        basis="tested",
        proof="tests/advice/GBR006/number-by-name.py",
    ),
    Remedy(
        "only-tensors",
        lambda data: (
            "An `autograd.Function`, a checkpoint, `torch.func.grad`, `torch.cond` or the like is "
            f"given `{_given(data).rpartition('.')[2]}` beside its tensors, and Dynamo of this "
            "torch takes only tensors and constants there: leave the module that calls it out of "
            "what is compiled, or have the function find the object by itself."
        ),
        code="@torch.compiler.disable  # above the `forward` of that module",
        when="what traces a function, such as an autograd.Function, is given no tensor",
        applies=_is_given,
        since="2.1",
        proof="torch/_dynamo/variables/higher_order_ops.py: validate_args_and_maybe_create_"
        "graph_inputs (2.1 to 2.6)",
    ),
    EDGE_LIST,
    DENSE_PARTS,
    Remedy(
        "jagged",
        "Make the nested tensor in the layout that Dynamo traces.",
        code="torch.nested.nested_tensor(tensors, layout=torch.jagged)",
        when="a nested tensor in the strided layout",
        applies=_is_strided,
        since="2.3",
        basis="tested",
        proof="tests/advice/GBR006/jagged.py",
        edits=True,
    ),
    Remedy(
        "flatten",
        lambda data: (
            f"An operator gets an object of the class `{data.value}`. If that is a class of "
            "tensors that wraps others, tell torch.compile what it wraps; else pass tensors."
        ),
        code=(
            "def __tensor_flatten__(self): return ['data'], None"
            "  # and __tensor_unflatten__, a static method"
        ),
        when="an object of a class of tensors that does not say what it wraps, in code of your own",
        applies=lambda data: _is_object(data) and not data.package,
        since="2.1",
        basis="tested",
        proof="tests/advice/GBR012/flatten.py",
    ),
    Remedy(
        "plain-module",
        PLAIN_MODULE,
        when="a module of TorchScript, in code of your own",
        applies=_is_plain,
        basis="tested",
        proof="tests/advice/GBR006/plain-module.py",
    ),
    Remedy(
        "leave-script-out",
        lambda data: (
            f"The line at {data.told_at} leads to a module of TorchScript that `{data.broken_in}` "
            "calls, and Dynamo does not look into it: leave this call out of what is compiled, and "
            "compile what comes before and after it."
        ),
        when="a module of TorchScript that an installed package calls, and a line of your own "
        "leads there",
        applies=_is_led,
        basis="tested",
        proof="tests/advice/GBR006/leave-script-out.py",
    ),
    Remedy(
        "class-outside",
        "Define the class once, outside of the functions that are compiled.",
        when="a class that a compiled function defines, in code of your own",
        applies=_is_class,
        basis="tested",
        proof="tests/advice/GBR012/class-outside.py",
    ),
    Remedy(
        "unpacked",
        "An operator gets an object of TorchScript, as the packed weights of "
        "torch.ao.quantization are (`quantize_dynamic`, `convert`). Call such a model as it is: "
        "its layers run at their own speed. To compile it, quantize in a way that is made for "
        "it (torchao, or PT2E with Inductor's quantizer).",
        when="packed weights",
        applies=_is_scripted,
        proof="https://docs.pytorch.org/ao/stable/pt2e_quantization/pt2e_quant_x86_inductor.html",
    ),
    Remedy(
        "own-function",
        "Dynamo steps into `apply` of an autograd.Function there, and cannot compare its"
        " `setup_context`. A newer torch traces such calls (2.13: on the class, on a subclass,"
        " through an attribute). Until then make an operator of it, with its backward and a fake"
        " kernel; without fullgraph=True the break only costs time.",
        code='@torch.library.custom_op("mylib::my_op", mutates_args=())  # then register_autograd',
        since="2.4",
        when="`setup_context` of an autograd.Function is compared",
        applies=_is_function,
        basis="untestable",
        proof="needs an older torch: https://github.com/pytorch/pytorch/pull/185316",
    ),
)


#: An object that is called: ``call_method UserDefinedObjectVariable(CPUDispatcher) __call__ [``.
_CALLED = late(r"\((\w{1,80})\) __call__ \[")


def named(site: BreakSite) -> str:
    """Return the function, logger or operator that the record names; empty where it names none."""
    cause = site.record.cause
    if cause is None:
        return ""
    kind, context = cause.kind, cause.context
    of_kind = kind.skipped_name or kind.numpy or kind.dynamic_operator or kind.drawn
    if context is None:
        return of_kind
    if UNSPECIALIZED in context.other:
        return UNSPECIALIZED
    object_called = _CALLED.search(context.other)
    told = context.qualname or context.operator or context.builtin or of_kind
    return told or (f"{object_called[1]}.__call__" if object_called else "")


#: In a package such a number mostly becomes a size, and an operator that needs it raises.
_CONVERTED = late(r"\b(?:int|float|range|list|tuple)\(|\.tolist\(")
#: The item of a list, ``chain[parents[i]]``: no symbol is an index of one, and Dynamo raises.
_INDEX = late(
    r"\w\[(?:int\([^:\n]{1,60}\)|\w{1,60}\[[^\]:\n]{1,60}\]|[\w.]{1,60}(?:\[\w{1,60}\])?\.item\(\))\]"
)


#: A number that counts: the largest index and one, ``int(batch.max()) + 1``, or a sum of counts.
_COUNT = late(
    r"\bint\((?:[\w.]{1,60}(?:\[-1\]|\.max\(\))(?:\.item\(\))?(?:\) \+ 1\b| \+ 1\))"
    r"|[\w.]{1,60}\.sum\(\)\))"
    r"|(?<![\w(])[\w.]{1,60}(?:\[-1\]|\.max\(\))\.item\(\) \+ 1\b"
)


def counts(code: str) -> bool:
    """Whether a line reads a number that is how many there are of something: a size of a tensor."""
    return bool(_COUNT.search(code) and not _INDEX.search(code))


_ATTENTION = "torch.nn.modules.activation.MultiheadAttention"


def attends(trees: Table[GuardTree]) -> bool:
    """Whether torch's module of attention is compiled, where Inductor fails with such a size."""
    return any(_ATTENTION in one.expression for row in trees for one in row.record.guards)


def takes_no_symbol(code: str, package: str) -> bool:
    """Whether a line fails with a symbol in place of the number that it reads."""
    return bool(_INDEX.search(code) or (package and _CONVERTED.search(code)))
