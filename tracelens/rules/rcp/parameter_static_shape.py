"""RCP018 parameter-static-shape."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo.breaks import lost_around
from tracelens.dynamo.entry_guards import entry_of
from tracelens.dynamo.layers import LayerShapes, serves_layers
from tracelens.dynamo.recompile_history import histories, series, settles
from tracelens.dynamo.recompile_variants import is_parameter, is_size
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import LengthCheck, Recompile, TensorMismatch, TypeCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.rcp._architectures import architectures
from tracelens.rules.rcp._changes import Group, groups, limit_of, owner
from tracelens.rules.rcp._data import USUAL_LIMIT, RecompileData, RecompileRule
from tracelens.rules.rcp._tell import listed, tell

__all__ = ["ParameterStaticShape"]


#: Recompiles from which on the number of shapes is a matter of the limit.
CERTAIN = 3
#: What is known of the size: nothing but the parameters hold it; or that it is not all that
#: differs, and other modules are held as well: models of several architectures.
FREE, MODELS = "free", "models"


class ParameterStaticShape(RecompileRule):
    """One compiled function serves parameters of several shapes, and is compiled for each.

    ## Why it matters
    Sizes of parameters are held static: they do not become symbols when they change. A function
    that runs for every layer, such as an optimizer's or a quantizer's, makes one entry per shape of
    weight; the ninth shape makes it run eagerly.

    ## What it looks like
    A size of a parameter differs, and torch says what holds it:

        [0/1] [__recompiles] Recompiling function update in /home/ana/proj/optimizer.py:65
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'layer._parameters['weight']' size mismatch at\
 index 0. expected 4, actual 5. Guard failed on a parameter, consider using\
 torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters.

    ## When it is harmless
    When there are fewer shapes than entries, it costs start-up time only: a remark.

    ## What to do
    Compile the block around it instead of the function that every layer shares. Or raise the limit
    to the number of shapes, or let sizes of parameters become symbols.

    ## How a live run confirms it
    The same run with ``force_parameter_static_shapes = False``: recompiles fall to one.

    ## See also
    RCP002 (sizes of inputs), RCP007 (a layer's number), RCP001.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP018"
    name = "parameter-static-shape"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob(
            "sizes of parameters may be dynamic",
            config={"torch._dynamo.config.force_parameter_static_shapes": False},
        )
    )

    remedies = (
        Remedy(
            "uncompiled",
            "What is compiled differs in the sizes of its parameters and in the modules that it "
            "holds, so each needs an entry. Where these are models that are tried one after the "
            "other, as in a search or in folds, call them uncompiled, and compile the one that is "
            "kept: where 10 models were trained for some 25 steps each, a step took 10 ms that "
            "way, and 93 ms with what compiling took.",
            when="entries of the first compiled function differ in the sizes of parameters and in "
            "the number or the classes of modules",
            applies=lambda data: data.held == MODELS,
            basis="untestable",
            proof="whether compiling pays depends on how often each is called; measured by hand",
        ),
        Remedy(
            "entry-each",
            "Each module that the function is given needs an entry of its own: raise the limit "
            "above their number, and each is compiled once.",
            when="modules that are an argument used up the entries",
            applies=lambda data: data.is_hit and _is_given(data.source),
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 8}",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP018/entry-each.py",
        ),
        Remedy(
            "compile-around",
            lambda data: (
                "Where these are layers of one model, compile that model, not the function that "
                "they share; or remove the break that gave it up."
                + ("" if data.is_hit and _is_given(data.source) else _APART[data.is_hit])
            ),
            basis="tested",
            proof="tests/advice/RCP018/compile-around.py",
        ),
        Remedy(
            "parameter-symbols",
            "Or let sizes of parameters become symbols.",
            when="the guards show that no attribute of a module holds the size, as that of a "
            "normalization or of a convolution by groups does",
            applies=lambda data: data.held == FREE,
            setting="torch._dynamo.config.force_parameter_static_shapes = False",
            since="2.1",
            basis="tested",
            proof="tests/advice/RCP018/parameter-symbols.py",
            knob=experiment.knob,
        ),
        Remedy(
            "raise-limit",
            "Or, where they are a fixed number of models, raise the limit above it: each is "
            "compiled once.",
            when="modules that are no argument used up the entries, of one architecture",
            applies=lambda data: data.is_hit and not _is_given(data.source) and data.held != MODELS,
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 8}",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP018/raise-limit.py",
        ),
    )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell why what is held of each model differs, too."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and data.held == MODELS:
            yield from (architectures(one.file, one.line) for one in data.functions)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what made Dynamo give up the model, or cut it, around the layers."""
        yield from super().follows(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            yield from (lost_around(one.file) for one in data.functions)

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        layers: Table[LayerShapes],
    ) -> Iterator[Finding]:
        """Yield one finding per function, whatever the parameter and the dimension."""
        for group in [
            *groups(self.code, recompiles, limits, by_function=True),
            *_by_input(recompiles, limits, layers),
        ]:
            name, values = _parameter(group)
            fits = "_parameters[" in name and group.most >= USUAL_LIMIT and not group.is_hit
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled for every shape of `{name}`",
                message=f"A size of it was {listed(values)}: {group.times}. Sizes of "
                "parameters are held static.",
                held=MODELS if _are_models(group) else FREE if _is_free(group, trees) else "",
                severity=Severity.WARNING
                if group.most >= CERTAIN or group.is_crowded
                else Severity.INFO,
                harmless=_FITS if fits else None,
            )


#: A module that is an argument; ``fn`` is that of torch's own wrapper.
_GIVEN = re.compile(r"(?!self\b|fn\b)\w{1,80}\.[^\n]{0,600}_parameters\[")
_APART: dict[bool, str] = {
    False: " Models of their own, such as an actor and a critic of one class, need an entry each: "
    "there is nothing to change then.",
    True: " Models of their own, such as those of an ensemble, need an entry each.",
}
_FITS = "each module that it serves is compiled once: the limit was raised above their number"


def _is_given(source: str) -> bool:
    """Whether it is a parameter of a module that the function gets as an argument."""
    return _GIVEN.match(source) is not None


def _parameter(group: Group) -> tuple[str, list[str]]:
    """Return the parameter and its sizes; the input, where only its channels tell the layers apart.

    The guard that failed first may be on the input: of the other entries, one on a parameter did.
    """
    checks = [step.check for _, step in group.steps]
    checks.sort(key=lambda check: not is_parameter(check))
    found = [check for check in checks if isinstance(check, TensorMismatch)]
    if found and is_parameter(found[0]):
        return str(found[0].source), group.values
    beside = [
        one.check
        for _, step in group.steps
        for one in step.seen.record.failures
        if isinstance(one.check, TensorMismatch) and is_parameter(one.check)
    ]
    if beside:
        first = (beside[0].source, beside[0].index)
        same = [one for one in beside if (one.source, one.index) == first]
        sizes = [size for one in same for size in (one.expected, one.actual)]
        return str(beside[0].source), list(dict.fromkeys(sizes))
    return str(found[0].source) if found else group.cause.what, group.values


def _are_models(group: Group) -> bool:
    """Whether the first function that is compiled is called with modules of other parts, too."""
    steps = group.history.steps
    if not all(step.place.frame.startswith("0/") for step in steps):
        return False
    checks = [failure.check for step in steps for failure in step.seen.record.failures]
    held = any(
        isinstance(one, LengthCheck | TypeCheck) and "_modules" in str(one.source) for one in checks
    )
    return held and any(map(is_parameter, checks))


def _is_free(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether the guards of the entries are known, and only parameters hold the size in them."""
    for _, step in group.steps:
        size = step.check.actual if isinstance(step.check, TensorMismatch) else ""
        entries = entry_of(step.place, trees)
        same = (f" == {size}", f" == ({size},)")
        held = any(guard.expression.endswith(same) for tree in entries for guard in tree.guards)
        if held or not entries:
            return False
    return True


def _by_input(
    recompiles: Table[Recompile], limits: Table[RecompileLimit], layers: Table[LayerShapes]
) -> list[Group]:
    """Return functions of layers whose recompiles name the input, which is checked first."""
    told = {
        group.history.definition for group in groups("RCP018", recompiles, limits, by_function=True)
    }
    found: dict[tuple[str, str, int], Group] = {}
    for values in series(histories(recompiles)):
        history, index = values.history, values.subject[-1]
        sized = is_size(values.checks[0]) and not settles(values)
        if sized and serves_layers(history.definition, index, layers):
            cause = owner(values.steps[0])._replace(code="RCP018")
            group = found.setdefault(history.definition, Group(cause))
            group.steps += [(history, step) for step in values.steps]
    for group in found.values():
        group.limit, group.is_hit = limit_of(group.history.definition, limits)
    return [group for definition, group in found.items() if definition not in told]
