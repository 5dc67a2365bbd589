# ruff: noqa: E501 -- patterns
"""What tells, anywhere in a line, that something failed: literals, fast; then patterns, linear.

Three sieves of rising cost: literals over a block of text, a pattern over the blocks that hold one,
and a pattern over the lines around a hit. What an excerpt that passes them means is not decided here.
"""

from __future__ import annotations

import re

from tracelens.late import late
from tracelens.logs._own_errors import OWN_ERRORS

__all__ = ["HINTS", "HOT", "TRIGGERS"]

#: One of them is in every text that tells of a failure.
TRIGGERS = (
    b"Error",
    b"rror: ",
    b"Exception",
    b"Traceback (",
    b"raised:",
    b"Unsupported: ",
    b"dynamo-optimized",
    b"RESULT_ERROR",
    b"Watchdog caught",
    b"watchdog got stuck",
    b"detected by watchdog",
    b"Not all ranks joining",
    b"NCCL error in",
    b"NCCL error: ",
    b"Timeout at NCCL work",
    b"retrieving ncclUniqueId",
    b"failed (exitcode: ",
    b"ProcessGroupNCCL::",
    b"Memory access fault by GPU",
    b"ptxas fatal",
    b" is not found",
    b"OutOfResources",
    b"out of memory",
    b"exit code -",
    b"Node: ",
    b"BrokenProcessPool",
    b"core dumped",
    b"terminate called",
    b"working triton",
    b"too old to be",
    b"CxxCompiler",
    b"find C compiler",
    b"out of resource",
    b"cannot find -l",
    b"donated buffers",
    b"bootstrapping phase",
    b"tensors was saved",
    b"fake tensors",
    b"No choices to select",
    b"LimitHit",
    b"LimitExceeded",
    b"active drivers",
    b"Python.h",
    b"cuda.h",
    b"undefined symbol: ",
    b"dlopen",
    b"suppress this exception",
    b"kernel image",
    b"LiveAllocations",
    b"output of CUDAGraphs",
    b"To prevent overwriting",
    b"FunctionalTensor on",
    b"accessed from Triton",
    b"compiled backward function",
    b"during evaluate_expr(",
    b"running evaluate_expr(",
    b"API call failed at",
    b"compilation failed: triton_",
    b"mounted with noexec",
    b"no larger than self",
    b"rror C",
    b": Assertion `",
    b"rror LNK",
    b"nvcc fatal",
    b"C++ compile error",
    b"Fatal Python error",
    b"PassManager::run",
    b"LLVM ERROR",
    b"InvalidBackend",
    b"_dynamo.exc.",
    b"_inductor.exc.",
    b"from user code",
    b"Failed running call_",
    b"constraint_violation_error",
    b"TooOldForTriton",
    b"TritonMissing",
    b'compile_fx.py", line ',
    b'convert_frame.py", line ',
    b'symbolic_convert.py", line ',
    b'output_graph.py", line ',
    b'triton_heuristics.py", line ',
    b'eval_frame.py", line ',
    b'aot_autograd.py", line ',
    b'runtime_wrappers.py", line ',
    b'codecache.py", line ',
    b'compile_tasks.py", line ',
    b'async_compile.py", line ',
    b'scheduler.py", line ',
    b'graph.py", line ',
    b'_triton.py", line ',
    b"requires .target",
    b"EngineCore failed",
    b"hit an exception",
    "\u2771".encode(),
    b"--> ",
)

#: Places in a line that tell of a failure, or of the way to it; what is not sure alone is followed
#: by a pattern, which begins there as well.
HOT: tuple[tuple[bytes, re.Pattern[bytes] | None], ...] = (
    (b"Traceback (most recent", None),
    (b"Error", late(rb"Error[:(\n\r'\"\x1b ]")),
    (b"Exception", late(rb"Exception[:(\n\r ]")),
    (b"error", late(rb"error(?:: (?![-\d.])| C\d{4}\b| LNK\d{4}\b)")),
    (b"exception was the direct", None),
    (b"raised:", None),
    (b"Unsupported: ", None),
    (b"Failed: ", None),
    (b"dynamo-optimized", None),
    (b"_RESULT_ERROR", None),
    (b"Watchdog caught", None),
    (b"watchdog got stuck", None),
    (b"detected by watchdog", None),
    (b"Not all ranks joining", None),
    (b"NCCL error in", None),
    (b"failed (exitcode: ", None),
    (b"Timeout at NCCL work", None),
    (b"retrieving ncclUniqueId", None),
    (b"ProcessGroupNCCL::", None),
    (b"Memory access fault by GPU", None),
    (b"ptxas fatal", None),
    (b" is not found", None),
    (b"OutOfResources", None),
    (b"out of memory", None),
    (b"out of resource", None),
    (b"exit code -", None),
    (b"SymNode: ", None),
    (b"BrokenProcessPool", None),
    (b"core dumped", None),
    (b"terminate called", None),
    (b"working triton", None),
    (b"too old to be", None),
    (b"CxxCompiler", None),
    (b"find C compiler", None),
    (b"cannot find -l", None),
    (b"donated buffers", None),
    (b"bootstrapping phase", None),
    (b"tensors was saved", None),
    (b"fake tensors", None),
    (b"No choices to select", None),
    (b"LimitHit", None),
    (b"LimitExceeded", None),
    (b"active drivers", None),
    (b"Python.h", None),
    (b"cuda.h", None),
    (b"undefined symbol: ", None),
    (b"dlopen", None),
    (b"suppress this exception", None),
    (b"kernel image", None),
    (b"LiveAllocations", None),
    (b"output of CUDAGraphs", None),
    (b"To prevent overwriting", None),
    (b"FunctionalTensor on", None),
    (b"accessed from Triton", None),
    (b"compiled backward function", None),
    (b"during evaluate_expr(", None),
    (b"running evaluate_expr(", None),
    (b"API call failed at", None),
    (b"compilation failed: triton_", None),
    (b"mounted with noexec", None),
    (b"torch.Size([", late(rb"torch\.Size\(\[[^\]\n]{0,200}?\b[su]\d")),
    (b"nvcc fatal", None),
    (b"requires .target", None),
    (b"EngineCore failed", None),
    (b"hit an exception", None),
    ("\u2771".encode(), None),
    (b"C++ compile error", None),
    (b"Fatal Python error", None),
    (b"PassManager::run", None),
    (b"LLVM ERROR", None),
    (b"InvalidBackend", None),
    (b"_dynamo.exc.", None),
    (b"_inductor.exc.", None),
    (b"TooOldForTriton", None),
    (b"TritonMissing", None),
    (b"from user code", None),
    (b"Developer debug context: ", None),
    (b"  Explanation: ", None),
    (b"Failed running call_", None),
    (b"raise constraint_violation_error", None),
    (b": Assertion `", None),
    (b"  args[", late(rb"  args\[\d{1,2}\]: ")),
    (b'File "', late(rb'File "[^"\n]{1,300}", line \d')),
    (b".py:", late(rb"\.py:\d{1,6}(?: in |: in |, in )\w")),
    (b": warning: ", None),
    (b": note: ", None),
    (b"In file included from", None),
)

#: What an excerpt must hold so that it is about compiled code, a toolchain or a device.
HINTS = late(
    rb"torch[._/\\]_(?:subclasses|dynamo|inductor|functorch|export|higher|library)|torch[/\\](?:export|fx)[/\\]|torchinductor|torch\.fx\b|triton|"
    rb"TORCHDYNAMO|TORCH_LOGS|nductor|InternalTorchDynamo|BackendCompilerFailed|Dynamo|dynamo"
    rb"|compile|C(?:pp|\+\+) ?[Cc]ompile|Python\.h|cuda(?:_runtime)?\.h|std\w{3,5}\.h"
    rb"|NCCL error(?: in|: )|failed \(exitcode: |Timeout at NCCL work|retrieving ncclUniqueId|ProcessGroupNCCL::|name '[suz]\d|cl is not|'cl'|cannot find -l|ptxas|RESULT_ERROR|IGC: |Watchdog caught|watchdog got stuck|detected by watchdog|Not all ranks joining|Memory access fault by GPU|Capture cuda graph|out of (?:mem|res)"
    rb"|OutOf(?:Memory|Resources)|CheckpointError|bootstrapping phase|donated buffers|expected size"
    rb"|Unsupported: |fake tensor|FakeTensor|GraphModule|CUDAGraph|cudagraph|CUDACaching|BrokenProcessPool"
    rb"|SubprocException|fp8e|LoweringException|NoValidChoices|program_source:|Metal|SymNode"
    rb"|[/\\]tmp\w{2,20}[/\\]+(?:main|cuda_utils)\.c|CompiledKernel|JITFunction|PassManager::run|Fatal Python error|compilation subprocess|libcuda\.so|aot_autograd|nvcc fatal|InvalidBackend|is capturing"
    rb"|Triton Error|kernel image|Error in dlopen|DynamicLibraryError|AOTI|active drivers|fullgraph=True"
    rb"|CompiledFunction|from user code:|TooOldForTriton|TritonMissing|InvalidCxxCompiler"
    rb"|_orig_mod\.|torch\.onnx\.|optimization option|Unrecognized mode=|mode or options can|ConfigModuleInstance|in activation checkpoint"
    rb"|"
    + b"|".join(map(str.encode, OWN_ERRORS))
    + rb"|requires \.target|EngineCore|Engine core init|Scheduler hit|LLVM ERROR: |TritonGPU|[Ii]nference tensor|CUDA error|HIP error|INTERNAL ASSERT FAILED|too old to be|tensors was saved|OMP: Error"
    rb"|LiveAllocations|FunctionalTensor|from Triton|aoti_torch_|evaluate_expr\(|[Ff]lex_?[Aa]ttention|flex_decoding"
    rb"|aot_export|register_fake|[Ff]ake (?:kernel|class|impl)|mounted with noexec|undefined symbol: \w{0,200}(?:c10|aoti)"
    rb"|torch\.Size\(\[[^\]\n]{0,200}?\b[su]\d"
    rb"|Sym(?:Int|Node|Bool|Float)|ExportedProgram|OpOverload|igher-?[ -]?[Oo]rder ?[Oo]p|VariableTracker"
    rb"|\w(?:Variable\(|FallbackKernel|SchedulerNode|Layout\b)|TensorBox|StorageBox|(?:Computed|Input)Buffer"
    rb"|(?:aten|prims)\.\w|torch\.(?:export|library|cond|ops|_[a-z])|\btl\.\w|pointer<|FSDP|DTensor|DeviceMesh"
    rb"|fully_shard|QConfig|unbacked|shape_env|\b[LG]\['|\b(?:Eq|Ne)\([su]\d|TreeSpec|BlockMask|(?:mask|score)_mod"
    rb"|use_reentrant|ROCm linker|: Assertion .|hip_runtime|arange's|please check the stack trace|Exception has occurred: U"
)
