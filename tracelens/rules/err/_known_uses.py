"""What to do where a compiled model is saved, copied, exported or compiled in another way."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["MISUSED", "USES"]

#: Causes that running without compiling tells nothing about.
MISUSED = frozenset(
    {
        "compile-option",
        "compiled-keys",
        "fsdp-params",
        "log-settings",
        "not-built",
        "onnx-export",
        "recompile-error",
        "torch-too-old",
        "unpicklable",
    }
)


def _is(cause: str, data: FailureData) -> bool:
    return data.cause == cause


def _is_of_dynamo(data: FailureData) -> bool:
    """Tell whether the exporter that uses torch.export failed, not the one that traces."""
    names = ("TorchExportError", "OnnxExporterError")
    return data.cause == "onnx-export" and data.exception.endswith(names)


def _is_both(data: FailureData) -> bool:
    return data.cause == "compile-option" and "Either mode or options" in data.message


USES = (
    Remedy(
        "own-weights",
        "torch.compile wraps the model, and its weights are then named `_orig_mod.` and on. Save"
        " and load those of the model itself; of a file that is there already, take that part of"
        " the names off. (`model.compile()` compiles in place, and changes no names.)",
        code=(
            "state = {k.replace('_orig_mod.', ''): v for k, v in state.items()}"
            "  # to save: getattr(model, '_orig_mod', model).state_dict()"
        ),
        applies=lambda d: _is("compiled-keys", d),
        when="the names of weights",
        proof="torch/_dynamo/eval_frame.py: OptimizedModule",
    ),
    Remedy(
        "known-options",
        "Options and modes differ from version to version, and a library may ask for one of"
        " another torch: install the torch that it names, or leave the option out. This lists"
        " those that this torch knows.",
        code='python -c "import torch; print(torch._inductor.list_options())"',
        applies=lambda d: _is("compile-option", d) and not _is_both(d),
        since="2.0",
        when="an unknown option",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "known-logs",
        "Take names that torch lists, with commas and without blanks between them; `+` before one"
        " logs more, `-` less. This lists those that this torch knows.",
        code="TORCH_LOGS=help python -c 'import torch'",
        applies=lambda d: _is("log-settings", d),
        since="2.0",
        when="a name that torch does not know",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "orig-params",
        "Wrap the model with use_orig_params=True before it is compiled (`fsdp_use_orig_params:"
        " true` in accelerate's and the Trainer's settings), or use FSDP2 (`fully_shard`).",
        code="model = torch.compile(FSDP(model, use_orig_params=True))",
        applies=lambda d: _is("fsdp-params", d),
        since="2.0",
        when="FSDP",
        basis="untestable",
        proof="torch's own message",
    ),
    Remedy(
        "mode-as-options",
        "A mode is a set of options: give its own ones among `options`, and no mode. This lists"
        " what each mode sets.",
        code='python -c "import torch; print(torch._inductor.list_mode_options())"',
        applies=_is_both,
        since="2.0",
        when="a mode and options together",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "first-worker",
        "The reason stands above, in the worker that failed first: look for the last `raised:` or"
        " `Error:` before this one. With one process (no tensor parallelism) it comes as it is.",
        code="grep -n -E 'raised:|[A-Za-z]+Error: ' run.log | head -n 40",
        applies=lambda d: _is("unpicklable-error", d),
        when="an error that does not pass between processes",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "copy-before",
        "Copy, pickle or send the model before it is compiled, or the one that was compiled"
        " (`_orig_mod`); each process compiles its own.",
        code="copy.deepcopy(getattr(model, '_orig_mod', model))",
        applies=lambda d: _is("unpicklable", d),
        when="a copy of a compiled model",
        proof="torch/_dynamo/eval_frame.py: OptimizedModule",
    ),
    Remedy(
        "one-thread",
        "Let backward run in the thread that calls it (checkpoints and DataParallel start others),"
        " or do without compiled autograd.",
        code="torch.autograd.set_multithreading_enabled(False)",
        applies=lambda d: _is("backward-threads", d),
        since="2.0",
        when="compiled autograd",
        basis="untestable",
        proof="torch's own message",
    ),
    Remedy(
        "export-alone",
        "The step that failed is torch.export: call it alone, which shows the error and the line,"
        " and mend what it names (conditions on data, sizes it takes for constants).",
        code="torch.export.export(model, args, strict=False)",
        applies=_is_of_dynamo,
        since="2.4",
        when="an export to ONNX",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "export-traced",
        "Or use the exporter that traces the model (torch 2.9 and newer choose the other one).",
        code="torch.onnx.export(model, args, path, dynamo=False)",
        applies=_is_of_dynamo,
        since="2.5",
        when="an export to ONNX",
        proof="https://docs.pytorch.org/docs/stable/onnx.html",
    ),
)
