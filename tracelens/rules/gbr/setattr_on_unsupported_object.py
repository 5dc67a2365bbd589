"""GBR020 setattr-on-unsupported-object."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._called import editable
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule

__all__ = ["SetattrOnUnsupportedObject"]


#: A name of the function's own: what an object keeps would be another tensor from then on.
_OFF = re.compile(r"(?P<name>[A-Za-z_]\w{0,60})\.requires_grad = False\Z")


def _switched_off(data: BreakData) -> str:
    """Return the tensor that needs no gradient from the line on; empty where it is another line."""
    found = _OFF.match(data.code) if data.name == "requires_grad" else None
    return found["name"] if found else ""


class SetattrOnUnsupportedObject(SiteRule):
    """Assigning an attribute of a tensor, a class or another special object breaks the graph.

    ## Why it matters
    Dynamo replays assignments to ordinary objects after the graph has run. An assignment that
    changes what a tensor is, such as ``y.requires_grad = True``, or that changes a class, it does not
    replay: the graph ends before it.

    ## What it looks like
    The context names the object and the attribute:

        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:25
        [0/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace STORE_ATTR: storing an object's attribute, e.g. x.attr = y:
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks] setattr() on Tensor.requires_grad
        [0/0] [__graph_breaks]   Explanation: setattr() on Tensor.requires_grad not supported.
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks]   Developer debug context: setattr(TensorVariable(), requires_grad, ConstantVariable(bool: True))

    ## When it is harmless
    In set-up code of the first call: libraries install hooks there, and each handle counts itself
    in an attribute of its class. GBR021 tells when that is so.

    ## What to do
    Assign before or after the compiled function, or compute the value where it is needed.

    ## How a live run confirms it
    The same calls without the assignment: one graph less per call.

    ## See also
    GBR010 (``requires_grad_()`` and ``backward()``), GBR021 (set-up code), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0206.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR020"
    name = "setattr-on-unsupported-object"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="graph_break:attribute",
        confirms="without the assignment, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    families: ClassVar[frozenset[str]] = frozenset({"attribute"})
    remedies = (
        Remedy(
            "detach-here",
            "Go on with a detached tensor: it shares the data, and needs no gradient.",
            when="`requires_grad = False`, in code of your own",
            applies=lambda data: bool(_switched_off(data)) and editable(data),
            code=lambda data: (
                f"{_switched_off(data) or 'x'} = {_switched_off(data) or 'x'}.detach()"
            ),
            basis="tested",
            proof="tests/advice/GBR020/detach-here.py",
        ),
        Remedy(
            "requires-grad-before",
            "Set it before the tensor comes into the compiled function.",
            when="`requires_grad`, in code of your own that does not switch it off",
            applies=lambda data: (
                data.name == "requires_grad" and not _switched_off(data) and editable(data)
            ),
            basis="tested",
            proof="tests/advice/GBR020/requires-grad-before.py",
        ),
        Remedy(
            "copy-values",
            "Go on with the new tensor, or copy its values under `torch.no_grad()`.",
            when="`.data`, in code of your own",
            applies=lambda data: data.name == "data" and editable(data),
            basis="tested",
            proof="tests/advice/GBR020/copy-values.py",
        ),
        Remedy(
            "assign-outside",
            "Assign it before or after the compiled function.",
            when="another attribute, in code of your own",
            applies=lambda data: data.name not in {"requires_grad", "data"} and editable(data),
            basis="tested",
            proof="tests/advice/GBR020/assign-outside.py",
        ),
        *LIBRARY,
    )

    def what(self, site: BreakSite) -> str:
        """Name the attribute, and the kind of object."""
        cause = site.record.cause
        context = cause.context if cause is not None else None
        name = self.named(site)
        kind = context.object if context is not None else ""
        of = next((words for start, words in _OBJECTS.items() if kind.startswith(start)), "")
        shown = f"assigning `{name}`" if name else "assigning an attribute"
        return f"{shown}{of} breaks the graph"

    def named(self, site: BreakSite) -> str:
        """Return the attribute."""
        cause = site.record.cause
        context = cause.context if cause is not None else None
        return context.attribute_name if context is not None else ""


#: How Dynamo names what the attribute is set on, and how people do.
_OBJECTS = {"TensorVariable": " of a tensor", "UserDefinedClass": " of a class"}
