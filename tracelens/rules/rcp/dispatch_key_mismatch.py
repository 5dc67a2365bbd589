"""RCP011 dispatch-key-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.recompiles import TensorMismatch
from tracelens.remedies import Remedy
from tracelens.report import Finding
from tracelens.report.stories import Story, transformed
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._tensor_rule import TensorRule

__all__ = ["DispatchKeyMismatch"]


def _transformed(data: object) -> bool:
    """Tell whether a tensor was wrapped by vmap, grad or another transform of torch.func."""
    return isinstance(data, RecompileData) and any(
        "FuncTorch" in guard.expected or "FuncTorch" in guard.actual for guard in data.guards
    )


class DispatchKeyMismatch(TensorRule):
    """A function is called with tensors of inference mode, and with others.

    ## Why it matters
    Tensors that were made under ``torch.inference_mode`` carry other dispatch keys than all the
    rest. An entry fits one kind only, so a warm-up with the one warms up nothing for the other.

    ## What it looks like
    Two sets of keys, or two devices:

        [0/1] [__recompiles] Recompiling function block in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' dispatch key set mismatch. expected\
 DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), actual DispatchKeySet(CPU,\
 BackendSelect)

    ## When it is harmless
    There are two kinds: one more entry, compiled once.

    ## What to do
    Warm up under the mode that serves: ``no_grad`` or ``inference_mode``, and not both.

    ## How a live run confirms it
    The same calls under one mode: the recompile is gone.

    ## See also
    RCP010 (grad mode and autocast), RCP013 (dtypes).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP011"
    name = "dispatch-key-mismatch"
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:kinds",
        confirms="always made in one mode, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "uncompiled-transform",
            "It is called within a transform of torch.func (vmap, grad, jacrev): give the "
            "transform, or the library that calls it, the module that is not compiled.",
            when="the keys are those of a transform of torch.func",
            applies=_transformed,
            basis="tested",
            proof="tests/advice/RCP011/uncompiled-transform.py",
        ),
        Remedy(
            "one-mode",
            "Make the tensors and call the function in one mode: tensors of inference_mode differ.",
            when="the keys are not those of a transform of torch.func",
            applies=lambda data: not _transformed(data),
            basis="tested",
            proof="tests/advice/RCP011/one-mode.py",
        ),
    )

    title = "`{function}` gets `{source}` with different dispatch keys"

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell what a transformation calls, too: Dynamo gives that up in such an entry."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and _transformed(data):
            yield from (transformed(one.name, one.file) for one in data.functions)

    def message(self, group: Group, check: TensorMismatch) -> str:
        """Say what differed."""
        return (
            f"`{check.source}` has other dispatch keys ({_difference(check)}) than the "
            f"tensor that the entry was compiled for: {group.times}."
        )


def _difference(check: TensorMismatch) -> str:
    """Return the keys that only one of the two tensors has."""
    old, new = (set(keys.rstrip(")").rpartition("(")[2].split(", ")) for keys in _sides(check))
    parts = [f"without {key}" for key in sorted(old - new)]
    return ", ".join(parts + [f"with {key}" for key in sorted(new - old)]) or "in another order"


def _sides(check: TensorMismatch) -> tuple[str, str]:
    return check.expected, check.actual
