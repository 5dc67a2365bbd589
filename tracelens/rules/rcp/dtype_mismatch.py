"""RCP013 dtype-mismatch."""

from __future__ import annotations

import re

from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.recompiles import TensorMismatch
from tracelens.remedies import Remedy
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._tensor_rule import TensorRule

__all__ = ["DtypeMismatch"]


#: torch's names in guards, and in programs.
FLOATS = {
    "Float": "torch.float32",
    "Double": "torch.float64",
    "Half": "torch.float16",
    "BFloat16": "torch.bfloat16",
}


#: How a guard names an array of NumPy.
_ARRAY = re.compile(r"___from_numpy\((\w+)\)")


def _is_floating(data: RecompileData) -> bool:
    return data.is_variable and FLOATS.keys() >= set(data.values)


def _wanted(data: RecompileData) -> str:
    """Return the first dtype; float64 mostly comes by accident, and is not asked for."""
    return FLOATS[next((one for one in data.values if one != "Double"), data.values[0])]


def _array(data: RecompileData) -> str:
    """Return the array of NumPy that Dynamo takes for a tensor; empty where it is none."""
    found = _ARRAY.fullmatch(data.source)
    return found[1] if found and FLOATS.keys() >= set(data.values) else ""


def _name(data: RecompileData) -> str:
    return _wanted(data).removeprefix("torch.")


def _passed(data: RecompileData) -> str:
    if data.is_of_library:
        return f'the array that is passed as `{_array(data)}`, with `.astype("{_name(data)}")`,'
    return f"`{_array(data)}`"


class DtypeMismatch(TensorRule):
    """A function is called with tensors of different dtypes.

    ## Why it matters
    Each dtype needs an entry. When one of them is ``Double``, it is most often an accident: NumPy
    and Python numbers bring float64, and everything computed from it takes the slow path.

    ## What it looks like
    The dtype of the entry, and that of the call:

        [0/1] [__recompiles] Recompiling function block in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' dtype mismatch. expected Float, actual Double

    ## When it is harmless
    Two dtypes by design, such as a reference and a fast path: one more entry each. Modules of
    torch's that are compiled one by one run in one wrapper: an embedding's indices and a layer's
    numbers differ.

    ## What to do
    Cast at the boundary, before the compiled function.

    ## How a live run confirms it
    The same calls with a cast: the recompile is gone.

    ## See also
    RCP010 (autocast), RCP014 (rank).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP013"
    name = "dtype-mismatch"
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:dtypes",
        confirms="converted before the call, nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the log does not tell the data types",
    )

    remedies = (
        Remedy(
            "cast",
            "Cast before the compiled function, to the dtype that most calls have.",
            when="floating-point dtypes, an argument of the function",
            applies=_is_floating,
            code=lambda data: f"{data.source} = {data.source}.to({_wanted(data)})",
            basis="tested",
            proof="tests/advice/RCP013/cast.py",
        ),
        Remedy(
            "array-dtype",
            lambda data: (
                f"Convert {_passed(data)} before the call: an array that is made in Python is "
                "float64."
            ),
            when="floating-point arrays of NumPy, an argument of the function",
            applies=lambda data: bool(_array(data)),
            code=lambda data: (
                None
                if data.is_of_library
                else f'{_array(data)} = {_array(data)}.astype("{_name(data)}")'
            ),
            basis="tested",
            proof="tests/advice/RCP013/array-dtype.py",
        ),
        Remedy(
            "one-dtype",
            lambda data: (
                "Make the tensor with one dtype"
                + (
                    "."
                    if FLOATS.keys() >= set(data.values)
                    else ": masks as bool, indices as int64."
                )
            ),
            when="masks, indices or a part of an object, and no array of NumPy",
            applies=lambda data: not _is_floating(data) and not _array(data),
            basis="tested",
            proof="tests/advice/RCP013/one-dtype.py",
        ),
    )

    title = "`{function}` gets `{source}` as {values}"

    def message(self, group: Group, check: TensorMismatch) -> str:
        """Say what differed."""
        return f"Each dtype of `{check.source}` needs an entry: {group.times}." + _double(group)

    def is_another_module(self, group: Group) -> bool:
        """Tell whether indices came as well as numbers: no module of torch's takes both."""
        floating = {value in FLOATS for value in group.values}
        return len(floating) > 1


def _double(group: Group) -> str:
    if "Double" not in group.values:
        return ""
    return " Double (float64) often comes from NumPy or from Python numbers by accident."
