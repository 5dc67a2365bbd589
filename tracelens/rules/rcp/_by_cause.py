"""What to do about the causes of recompiles, where nothing but the limit tells of them.

Where the log has the recompiles, the rules about the causes say more, and say it better.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tracelens.dynamo import user_code
from tracelens.dynamo.token_caches import is_of_token_cache
from tracelens.dynamo.user_code import is_torch_wrapper
from tracelens.logs.recompiles import MAX_DIGITS
from tracelens.remedies import Remedy
from tracelens.rules.rcp._states import advice, statement

if TYPE_CHECKING:
    from tracelens.rules.rcp._data import RecompileData

__all__ = [
    "BY_CAUSE",
    "LAYERS_SHARE",
    "NUMBERS",
    "STATIC_CACHE",
    "is_of_object",
    "is_without_tensors",
    "like_channels",
    "of_parameters",
]

#: Packages that draw, write, log and read: nothing in them is worth compiling.
_NO_TENSORS = frozenset(
    {"PIL", "cv2", "h5py", "imageio", "logging", "loguru", "matplotlib", "mlflow", "pandas"}
    | {"requests", "rich", "scipy", "seaborn", "sklearn", "tensorboard", "tqdm", "wandb"}
)
#: Causes that dynamic sizes, from the first call on, end.
NUMBERS = frozenset({"RCP002", "RCP003", "RCP004", "RCP005", "RCP016"})


def _about(id: str, text: str, cause: str, *codes: str) -> Remedy:  # noqa: A002 -- as in Remedy
    causes = (cause, *codes)
    return Remedy(
        id,
        text,
        when=f"{', '.join(causes)} is the cause",
        applies=lambda data: data.cause in causes,
        basis="tested",
        proof=f"tests/advice/{cause}/{id}.py",
    )


#: How a reason names a parameter that a module holds.
_OF_MODULE = re.compile(r"self\b|_parameters|_modules|\.(?:weight|bias)\b")


def _of_layers(data: RecompileData) -> bool:
    """Whether layers share the function: an optimizer's step over parameters is no layer."""
    return data.function in {"forward", "_forward"} or _OF_MODULE.search(data.source) is not None


#: Sizes that are channels of layers are multiples of this, and not below.
CHANNELS = 16


def like_channels(data: RecompileData) -> bool:
    """Whether it looks as if layers shared a ``forward``, each with channels of its own."""
    named = data.cause == "RCP002" and data.function in {"forward", "_forward"}
    sizes = [int(one) for one in data.values if one.isdecimal() and len(one) < MAX_DIGITS]
    counts = bool(sizes) and all(one >= CHANNELS and one % CHANNELS == 0 for one in sizes)
    return named and data.dimension == 1 and counts


#: An argument, or an entry of one that a wrapper gathers, and its name there.
_ARGUMENT = re.compile(r"(?!self\b)[A-Za-z_]\w{0,80}(?:\['(?P<key>\w{1,80})'\])?")
#: The same where only the limit tells of it.
_SIZE_OF = re.compile(r"the size of `(?P<source>[^`]{1,120})` in dimension (?P<dimension>\d{1,3})")


def _size_of(data: RecompileData) -> tuple[str, int]:
    """Return the tensor whose size changes, and the dimension."""
    if found := _SIZE_OF.fullmatch(data.source):
        return found["source"], int(found["dimension"])
    return data.source, data.dimension or 0


def _is_argument(data: RecompileData) -> bool:
    """Whether the size is that of an argument, which the program has before the call."""
    found = _ARGUMENT.fullmatch(_size_of(data)[0])
    if data.cause != "RCP002" or found is None:
        return False
    return found["key"] is not None or not user_code.package(data.file)


#: An item of a list, named as what optimizers hold, and how functions are called that update it.
_HELD = re.compile(
    r"(?:p|params?|parameters|g|grads?|gradients?|weights?|exp_avgs?(?:_sqs?)?|momentums?|updates?)"
    r"(?:_?list)?\[\d{1,6}\]"
)
_UPDATES = re.compile(
    r"(?i)(?:^|[/_])_?(?:update|step|optim|foreach|adam|sgd|muon|lion|soap|shampoo|precond|lamb)"
)


def of_parameters(data: RecompileData) -> bool:
    """Tell whether it is a size of a parameter, or of its gradient, in a function that updates it.

    Parameters have as many shapes as the model gives them: their number is known.
    """
    held = data.cause == "RCP002" and _HELD.fullmatch(_size_of(data)[0]) is not None
    return held and _UPDATES.search(f"{data.file}/{data.function}") is not None


def _passed(source: str) -> str:
    """Return what the caller has: ``batch["input_ids"]`` of ``kwargs['input_ids']``."""
    found = _ARGUMENT.fullmatch(source)
    return f'batch["{found["key"]}"]' if found and found["key"] else source or "x"


def _marked(data: RecompileData) -> str:
    source, dimension = _size_of(data)
    return f"torch._dynamo.maybe_mark_dynamic({_passed(source)}, {dimension})"


#: Names of numbers that kernels, views and ranges take as they are: no tensor does there.
_SIZE = re.compile(
    r"(?:^|[^a-z])(?:seq_?len|(?:max|num|n)_\w"
    r"|(?:height|width|[hw]|dims|ndim|chunks?|groups|heads|rank|top_?k)(?:$|[^a-z]))"
    r"|(?:len(?:gth)?s?|sizes?|tokens?|frames?|dim)(?:$|[^a-z])"
)


def _counts(data: RecompileData) -> bool:
    """Tell whether what changes is named as a size, a count or a length."""
    named = re.findall(r"\w+", data.source)
    return bool(named) and _SIZE.search(named[-1].lower()) is not None


#: An attribute of the object that a method is called on, and a value that names one of many.
_OWN = re.compile(r"`?self\.\w{1,80}`?")
_NAME = re.compile(r"['\"][\w.:/-]{0,200}[\d./][\w.:/-]{0,200}['\"]")


def is_of_object(data: RecompileData) -> bool:
    """Tell whether what changes is the name of an object, which each of them has for itself."""
    named = data.cause == "RCP006" and _OWN.fullmatch(data.source) is not None
    return named and bool(data.values) and all(map(_NAME.fullmatch, data.values))


_RECORD_DYNAMIC = Remedy(
    "record-dynamic",
    "A log with this switch tells what makes the size a constant again: a line of code, which it "
    "names, or dynamic=False.",
    when="RCP002 is the cause, and the size looks neither like channels nor like a parameter's",
    applies=lambda data: (
        data.cause == "RCP002" and not (like_channels(data) or of_parameters(data))
    ),
    env='TORCH_LOGS="recompiles,dynamic"',
    basis="untestable",
    proof="it records more; RCP002 and DYN004 then say what to do",
)

LAYERS_SHARE = Remedy(
    "layers-share",
    "Such sizes may be the channels of layers that share this `forward`, each with weights of "
    "its own, which hold the size. Compile the model around the layers, in one graph; where "
    'that is what you compile, a graph break above them splits it: TORCH_LOGS="graph_breaks" '
    "shows where. What is to be compiled layer by layer, as under FSDP, needs a limit "
    "(`torch._dynamo.config.recompile_limit`) of as many entries as there are such sizes.",
    when="RCP002 is the cause, in a `forward`, in dimension 1, with a multiple of 16",
    applies=like_channels,
    basis="tested",
    proof="tests/advice/RCP001/layers-share.py",
)
_MAYBE_MARK = Remedy(
    "maybe-mark",
    lambda data: (
        f"Mark dimension {_size_of(data)[1]} of that input before the call, where it is passed "
        "in. That holds where dynamic=False does not, and does not raise where a line of code "
        "needs the number."
    ),
    when="RCP002 is the cause, of an argument whose size does not look like channels",
    applies=lambda data: _is_argument(data) and not like_channels(data),
    code=_marked,
    since="2.1",
    basis="tested",
    proof="tests/advice/RCP001/maybe-mark.py",
)
#: Causes that a cache of keys and values brings about: it is made anew, and grows.
_OF_CACHES = frozenset({"RCP002", "RCP003", "RCP008", "RCP015", "RCP016", "RCP017"})

STATIC_CACHE = Remedy(
    "static-cache",
    "It is a cache of keys and values, which grows with every token: take one of a fixed size. "
    "Where it must grow, leave out dynamic=False, so that its sizes can be symbols (since torch "
    "2.1), or leave the loop over tokens uncompiled. A higher limit only puts the end off.",
    when="what changes is a cache of keys and values",
    applies=lambda data: data.cause in _OF_CACHES and is_of_token_cache(data.source),
    code='model.generate(**inputs, cache_implementation="static")  # of transformers',
    basis="source",
    proof="https://huggingface.co/docs/transformers/kv_cache",
)
_BY_CAUSE = (
    LAYERS_SHARE,
    _MAYBE_MARK,
    _RECORD_DYNAMIC,
    Remedy(
        "number-as-size",
        lambda data: (
            "Compile with dynamic=True, or take dynamic=False out: the number becomes a symbol. "
            f"Where a kernel needs {data.source or 'the number'} as it is, it stays a constant: pad"
            " what it counts to a few fixed lengths, or raise "
            f"`torch._dynamo.config.{getattr(data, 'setting', 'recompile_limit')}` to the number of"
            " its values."
        ),
        when="RCP004 is the cause, of a number that is named as a size, a count or a length",
        applies=lambda data: data.cause == "RCP004" and _counts(data),
        code="torch.compile(model, dynamic=True)",
        since="2.1",
        basis="tested",
        proof="tests/advice/RCP001/number-as-size.py",
    ),
    replace(
        _about(
            "pass-tensor",
            "Pass the number as a tensor, unless range() or a branch needs it.",
            "RCP004",
            "RCP005",
        ),
        when="RCP004, RCP005 is the cause, unless the number is a size, a count or a length",
        applies=lambda data: data.cause in {"RCP004", "RCP005"} and not _counts(data),
    ),
    Remedy(
        "leave-method",
        lambda data: (
            f"{data.source} is an attribute whose value each object has for itself, so each takes"
            " an entry. Where the program is not yours, update it; else leave this small method"
            " out of what is compiled, or read the attribute where the object is made, into a"
            " function without it."
        ),
        when="RCP006 is the cause, of the name of an object in an attribute",
        applies=is_of_object,
        code="@torch.compiler.disable  # above that method",
        since="2.1",
        proof="torch/_dynamo/cache_size.py; one entry for each value of an attribute",
    ),
    _about(
        "look-up-outside",
        "Look up or branch before the compiled function is called, and pass on the result; keep "
        "beside the call what the function only logs or returns.",
        "RCP006",
    ),
    Remedy(
        "unspec-int",
        "Let integer attributes of modules become symbols.",
        when="RCP007 is the cause",
        applies=lambda data: data.cause == "RCP007",
        setting="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
        since="2.7",
        basis="tested",
        proof="tests/advice/RCP007/unspec-int.py",
    ),
    replace(
        _about(
            "buffer",
            "Or keep the number in a buffer of the module, where it is only computed with, not a "
            "slice's bound or a range; count by assigning a new tensor, not in place.",
            "RCP007",
        ),
        edits=True,
    ),
    replace(
        _about("same-object", "Pass the same object in every call.", "RCP008"),
        when="RCP008 is the cause, and it is no cache of keys and values",
        applies=lambda data: data.cause == "RCP008" and not is_of_token_cache(data.source),
    ),
    STATIC_CACHE,
    _about("compile-caller", "Compile the code that calls the blocks.", "RCP009"),
    replace(
        _about("one-state", "", "RCP010"),
        text=advice,
        code=statement,
        proof="tests/advice/RCP010/one-state.py",
    ),
    _about(
        "stack",
        "Stack the items in one tensor, whose size can be a symbol; empty a list that the function "
        "fills before each call.",
        "RCP017",
    ),
    replace(
        _about("compile-around", "Compile the model around the layers that share it.", "RCP018"),
        when="RCP018 is the cause, in a `forward` or of what a module holds",
        applies=lambda data: data.cause == "RCP018" and _of_layers(data),
    ),
    Remedy(
        "parameter-symbols",
        "Let sizes of parameters become symbols.",
        when="RCP018 is the cause, and the parameter is an argument or an item of one: no module "
        "that keeps its sizes is in the way",
        applies=lambda data: data.cause == "RCP018" and _OF_MODULE.search(data.source) is None,
        setting="torch._dynamo.config.force_parameter_static_shapes = False",
        since="2.1",
        basis="tested",
        proof="tests/advice/RCP018/parameter-symbols.py",
    ),
    Remedy(
        "newer-torch",
        "The guard itself fails in every call, which is an error of torch's: update it, or report "
        "it with the log of TORCH_LOGS=recompiles_verbose. A higher limit does not help.",
        when="the code of a guard names what does not exist",
        applies=lambda data: data.cause == "RCP021" and "is not defined" in data.source,
        code="python -m pip install -U torch",
        basis="untestable",
        proof="an error of torch that later versions do not have",
    ),
    Remedy(
        "tensor-lr",
        "Keep the learning rate in a tensor: `lr=torch.tensor(1e-3)`.",
        when="RCP022 is the cause, and the learning rate changes",
        applies=lambda data: data.cause == "RCP022" and "['lr']" in data.source,
        basis="tested",
        proof="tests/advice/RCP022/tensor-lr.py",
    ),
    Remedy(
        "optimizer-outside",
        "Compile the model and not the optimizer, while this number changes.",
        when="RCP022 is the cause, and another number changes",
        applies=lambda data: data.cause == "RCP022" and "['lr']" not in data.source,
        proof="https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html",
    ),
    _about(
        "branch-outside",
        "Take the branch on the size before the compiled function is called.",
        "RCP023",
    ),
    Remedy(
        "compile-forward",
        "Compile each model below the decorator that they share.",
        when="RCP030 is the cause, and the decorator is not torch's own",
        applies=lambda data: data.cause == "RCP030" and not is_torch_wrapper(data.file),
        basis="tested",
        proof="tests/advice/RCP030/compile-forward.py",
    ),
    Remedy(
        "own-code-object",
        "Define each function in a source file of your own, and compile that: what has no source "
        "file (`exec`, a builtin) or is in a skipped one, torch runs inside this wrapper, whose "
        "entries all of them share.",
        when="the function is torch's own wrapper of a callable",
        applies=lambda data: data.cause == "RCP030" and is_torch_wrapper(data.file),
        proof="https://github.com/pytorch/pytorch/issues/124269",
    ),
)


def is_without_tensors(data: Any) -> bool:
    """Tell whether the function is in a package that works on no tensors."""
    return user_code.package(data.file) in _NO_TENSORS


def _elsewhere(remedy: Remedy) -> Remedy:
    return replace(
        remedy, applies=lambda data: not is_without_tensors(data) and remedy.applies(data)
    )


BY_CAUSE = (
    Remedy(
        "leave-package",
        lambda data: (
            f"`{user_code.package(data.file) or 'The package'}` works on no tensors: call it "
            "outside of what is compiled, or leave the function of the program's that leads there "
            "(logging, a plot, a hook of a framework) out of it."
        ),
        code="@torch.compiler.disable",
        when="the function is in a package that draws, logs, reads or writes",
        applies=is_without_tensors,
        since="2.1",
        basis="source",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
    ),
    *map(_elsewhere, _BY_CAUSE),
)
