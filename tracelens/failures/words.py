# ruff: noqa: E501 -- lists of words
"""Words that torch's compiler and Triton use of their own things, and no other program does.

A message that no phrase knows is told for what it is by the names in it. Counted over what torch
2.6 and 2.13 and Triton 3.3.1 raise, and left out where other libraries say them, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.late import late

if TYPE_CHECKING:
    from tracelens.failures.record import Stage

__all__ = ["fails", "is_error", "is_news", "of_torch", "spoken"]

#: The stage that a name belongs to; the later stages first.
_WORDS: tuple[tuple[Stage, re.Pattern[str]], ...] = (
    (
        "triton",
        re.compile(
            r"\btl\.(?:constexpr|tensor|dtype|load|store|dot|arange|range|static_\w+|program_id|\w+\d\d)\b"
            r"|\btriton\.(?:language|compiler|runtime|backends|jit|autotune|Config|knobs)"
            r"|@triton\.jit|'constexpr' object|\bTriton (?:kernel|does|cannot|only|requires|compil|language)"
            r"|\bmlir::triton|\btriton::|\bpointer<(?:fp|bf|int|u?i)\w{1,12}>|\btriton_gpu\.|\bttn?g\.\w|\btt\.func"
            r"|\bnum_(?:warps|stages|ctas) (?:must|should|is)|inline_asm_elementwise|tensor_descriptor|\bTensorDescriptor\b"
        ),
    ),
    (
        "inductor",
        re.compile(
            r"\b(?:TensorBox|StorageBox|(?:Computed|Input|Constant|Template|Mutation)Buffer"
            r"|(?:Fixed|Flexible|NonOwning|MultiOutput|NoneAs\w{1,8})Layout|\w{0,12}FallbackKernel|ExternKernel\w{0,12}"
            r"|\w{0,16}SchedulerNode|ReinterpretView|CSEVariable|CSEProxy|MultiTemplateBuffer|CuteDSL"
            r"|(?:CUDA|CPP|Triton|Simd|SIMD)(?:Template|Scheduling|Kernel)|KernelInputs)\b"
            r"|[Ii]nductor(?!y)|\bAOTI\b|aoti_|\baot_compile\b|AOT ?[Ii]nductor|max[-_]autotune|\bfx_graph_cache"
            r"|[Cc]odegen\w{0,3} (?:for|of) (?:node|kernel|op)|cpp_wrapper|auto_functionalized"
        ),
    ),
    (
        "aot",
        re.compile(
            r"\bfunctionaliz(?:e|ed|es|ing|ation)\b.{0,40}\b(?:operator|tensor|op|graph|view)s?\b|\bFunctionalTensor\w{0,8}|AOTAutograd|\baot_(?:autograd|export|function|module|eager|config)\w{0,24}"
            r"|\bAOTOutput\b|\bAOTConfig\b|\bfw_metadata\b|\bSubclassCreationMeta|\btraced_tangent|\bjoint graph\b"
            r"|\bmin_cut\w{0,24}|\bpartitioner\b.{0,40}\b(?:fx|joint|forward|backward) graph\b|PlainTensorMeta|ViewAndMutationMeta"
        ),
    ),
    (
        "dynamo",
        re.compile(
            r"\bTensorVariable(?:Tracker)?\(|\b(?:Constant|SymNode|Lazy|Tuple|List|ConstDict|Dict|Set|Builtin|NNModule|NestedUser\w{1,12}"
            r"|UserDefined\w{1,12}|User(?:Function|Method)|Unspecialized\w{1,12}|TorchInGraph\w{1,12}"
            r"|Functools\w{1,12}|GetAttr|Range|Slice|PythonModule|StreamContext|Autograd\w{1,12})Variable(?:Tracker)?\b"
            r"|\bVariableTracker\b|\bDynamo\b(?! ?(?:DB|[Tt]able|worker|frontend|planner|operator))|[Tt]orch ?[Dd]ynamo|TORCHDYNAMO|\bfullgraph\b|[Gg]raph[- ]break"
            r"|\b(?:Dict|Root)?GuardManager\b|\bGuardBuilder\b|\bInstructionTranslator\b|\bOutputGraph\b"
            r"|\bFake(?:Tensor|ScriptObject)\w{0,8}|\bfake[ _](?:mode|tensor|kernel|impl|class)|\bregister_fake\b"
            r"|\bSym(?:Int|Float|Bool|Node)s?\b|\bsymints?\b|\bunbacked\b|\b[Ss]hape_?[Ee]nv\b|\bValueRanges\b"
            r"|\bOptimizedModule\b|\bGraphModule\b|\bExportedProgram\b|\bOpOverload\w{0,6}|\bHigherOrderOperator\b|[Hh]igher[- ]order op"
            r"|\binvoke_subgraph\b|\bHOP\b.{0,60}(?:graph|op|trac)|\bcall_module\b|\bcall_method (?:node\b|[A-Z]\w{1,40}Variable\b)|\bcall_method\[target=|node\.(?:op|target)\b.{0,24} call_method\b|\bcall_function['`]? (?:op|node|with target)|\bmake_fx\b"
            r"|\bdynamic_shapes\b|\bTreeSpec\b|\bfx\.(?:Node|Graph|Proxy|symbolic_trace)|\b[Ff][Xx] ?[Gg]raph|symbolically trac"
            r"|torch\.(?:compile[rd]?|export|fx|library|cond|ops|_[a-z]\w{1,24})\b(?!\.config\.\w{1,80} does not exist)|\btorch\.nn\.attention|\bnonstrict_trace\b|\bexpected FunctionType\b"
            r"|\b(?:aten|prims|higher_order|_c10d_functional)\.\w|\bmeta (?:kernel|tensor|function)"
            r"|\b[LG]\['|\b[suz]\d{1,4} \(could be from|\b(?:Eq|Ne|Mod|FloorDiv)\([suz]\d|\b(?:expression|guard\w{0,3}|constraints?)\b.{0,60}\b[su]\d{1,4} (?:[<>=!]=|[<>]) [\dsu]"
            r"|\b(?:flex_(?:attention|decoding)|[Ff]lexAttention|BlockMask|block_mask|mask_mod|score_mod)\b"
        ),
    ),
    (
        "runtime",
        re.compile(r"CUDA ?[Gg]raph|cudagraph|outside graph capture|\bCompiledFunction|\bcompiled_autograd|[Cc]ompiled autograd"),
    ),
    (
        "unknown",
        re.compile(
            r"\bDTensor\w{0,6}\b|\bDeviceMesh\b|\bfully_shard\b|\bFSDP\b|\b_?StridedShard\b|\bSubclassSymInt"
            r"|\bQConfig\w{0,8}\b|\bqconfig\b|\bPT2E\b|\bpt2e\b|\bcustom_op\b.{0,60}(?:torch|tensor|schema|mutat)"
            r"|use_reentrant|\bNestedTensor\b|\bScriptObject\b"
        ),
    ),
)  # fmt: skip
#: ... and what anything that is written in torch says.
_TORCH = late(
    r"\b[Tt]ensors?\b|\bTensor\w{0,12}|\btorch\b|\bautograd\b|\brequires_grad\b|\bCUDA\b|\bROCm\b|\bXPU\b"
    r"|\bnn\.[A-Z]\w{2,24}|\bgrad_fn\b|\bdtype torch|\bPyTorch\b|\bdevice mesh\b|\bkernel_size\b|\bleaf Variable\b"
)
#: How a sentence says that something failed.
_FAILS = late(
    r"(?i)\b(?:not (?:supported|implemented|found|allowed|available|yet|a valid)|unsupported|unhandled"
    r"|un(?:expected|recogni[sz]ed|known)|cannot|can't|could ?n[o']t|must|should (?:be|not|have)|expected|expects?"
    r"|only (?:supports?|accepts?|allow)|fail(?:ed|s|ure)?|invalid|missing|mis-?match\w*|errors?|does(?: not|n't)"
    r"|did(?: not|n't)|is not|isn't|was not|wasn't|illegal|forgot|forget|not in|NYI|has no attribute|crash(?:es|ed)?|requires?|incompatible|attempt\w*)\b"
)
#: Programs that use some of these words, too.
_OTHERS = late(
    r"(?i)\b(?:tensorflow|keras|jax(?:lib)?|xla|onnx ?runtime\w{0,5}|openvino|pytensor|pymc|theano|paddle\w{0,8}"
    r"|mindspore|mxnet|tvm|iree|ggml|llama\.cpp|nvidia dynamo|etcd|tosa|stablehlo|cupy|cudnn_status\w{0,40})\b"
)
#: What says that it went on, counts errors, or measures them.
_QUIET = late(
    r"(?i)deprecat|\bwarn|\bhit config\.\w|\bwe (?:recommend|will (?:raise|remove))|\b(?:a|the) future\b|\brenamed\b|\bwill (?:be (?:\w{2,12}ed|slow|none)|raise|detach|use)"
    r"|\bfall(?:s|ing)? ?back|\bskip(?:s|ped|ping)\b|\bdisabling\b|\bslow|\bperformance\b|\bignor(?:ed|ing)\b"
    r"|does(?: not|n't) affect|\b(?:may|could) (?:cause|lead|be|result)|\bunfused\b|Creating script"
    r"|\b(?:no|0|zero) (?:errors?|fail)|errors?\b ?[:=]? ?\d|\bfail\w{0,4} ?[:=] ?\d"
    r"|\b(?:max|min|mean|abs\w{0,5}|rel\w{0,5}|rms\w?)[ _-](?:\w{1,10} )?error|\baccuracy\b.{0,20}\d"
)
#: A row of a table or of a list of settings, a value as Python or JSON has it, a command.
_LISTED = late(
    r"\s*[\w.+-]{1,60}(?:\t|\s{3})|\s*(?:[-*] )?[`'\"]?\(['\"]|\s*[\[{]{1,3}['\"]"
    r"|\s*(?:[+$#%>]{1,2} )?(?:[A-Z]\w{0,40}=\S{1,200} ){0,8}"
    r"(?:python[\d.]{0,5}|torchrun|accelerate launch|pytest|bash|sh) [\w./-]"
)
#: What people say to each other, or write of a release, and no program does.
_TALKS = late(
    r"\bI(?:['\u2019](?:m|ve|ll|d)\b| (?!and\b|or\b|must\b|is\b|in\b)[a-z])|\b[Mm]y [a-z]"
    r"|\b(?:any(?:one|body)|any ideas?|apparently|btw|thx|yesterday|for some reason)\b"
    r"|\bno longer (?:fail|crash|rais|error|hang)|\(#\d{2,6}\)|\*\*\w[^*\n]{0,60}\w\*\*"
    r"|\b[Ff]ix(?:e[sd]|ing) (?:an? |the )?(?:crash|error|bug|issue|failure|regression|hang)"
)
#: ... and what their sentences begin with.
_LEADS = late(
    r"\W{0,4}(?:"
    r"Fix (?:an? |the )?(?:crash|error|bug|issue|failure|regression|hang)"
    r"|(?:In|Since|With) (?:this|the (?:next|last|latest)) (?:release|version|update)\b|After \w{2,20}ing\b"
    r"|(?:so|well|yeah|yes|ok|okay|hey|hi|hello),? (?:the|it|that|this|we|you|they|torch)\b"
    r"|(?:the|a|an) (?:CUDA ?graph|compiler|graph break|compiled|[Ii]nductor|[Dd]ynamo)\b)"
)
#: A heading above what changed in a release.
_RELEASE = late(
    r"#{1,4} (?:\[?v?\d{1,4}\.\d|.{0,20}?(?:[Cc]hangelog|[Rr]elease notes|What's (?:[Nn]ew|[Cc]hanged)"
    r"|[Bb]ug ?[Ff]ixes|Unreleased|Known [Ii]ssues|Breaking [Cc]hanges))"
)
_BULLET = late(r"\s*[-*+] (?!\*)")
_ASKS = late(r"\s*(?:How|Why|What|When|Is|Are|Does|Do|Can|Could|Should|Any\w{0,4})\b[^?\n]*\?")


def spoken(text: str) -> Stage | None:
    """Return the stage whose words ``text`` has, ``unknown`` for torch's at none; None without."""
    if _is_of_others(text):
        return None
    for stage, words in _WORDS:
        if words.search(text):
            return stage
    return None


def of_torch(text: str) -> bool:
    """Tell whether ``text`` has a word of what is written in torch, compiled or not."""
    return _TORCH.search(text) is not None and not _is_of_others(text)


def fails(text: str) -> bool:
    """Tell whether ``text`` says that something failed."""
    return _FAILS.search(text) is not None


def is_error(text: str, below: str = "") -> bool:
    """Tell whether ``text``, which no exception's name begins, says that torch's compiler failed.

    A warning goes on in the lines ``below``.
    """
    if not fails(text) or spoken(text) is None or _ASKS.match(text) or _LISTED.match(text):
        return False
    if _is_prose(text):
        return False
    return _QUIET.search(f"{text} {below}") is None


def is_news(lines: Sequence[str]) -> bool:
    """Tell whether ``lines`` are a list of what changed: below its heading, or by one of them."""
    if any(map(_RELEASE.match, lines)):
        return True
    return any(_BULLET.match(line) and _is_prose(line) for line in lines)


def _is_prose(text: str) -> bool:
    """Tell whether ``text`` is a person's sentence, not a program's."""
    return _TALKS.search(text) is not None or _LEADS.match(text) is not None


def _is_of_others(text: str) -> bool:
    return "torch" not in text and _OTHERS.search(text) is not None
