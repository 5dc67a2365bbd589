# ruff: noqa: E501, RUF001 -- phrases of many programs, each in a line
"""Phrases of torch, Triton, compilers and drivers, the more telling first.

A phrase is looked for in the text without its blanks: nothing then depends on where a terminal, a box
or a logger broke the lines. What a phrase catches (``(?P<needed>...)``) is kept as a fact.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PHRASES", "Phrase"]

#: Headers that belong to a C or C++ compiler and its library.
_OWN_HEADER = (
    r"(?:std(?:def|io|lib|int|bool|arg|align)|limits|float|features|inttypes|errno|assert|string|math|"
    r"wchar|ctype|time|unistd|sys/\w+|bits/[\w+-]+|gnu/[\w-]+|asm/\w+|linux/\w+|crtdefs|vcruntime|"
    r"corecrt|windows|immintrin|x86intrin|emmintrin)\.h|algorithm|atomic|array|cmath|cstd\w+|cstring|iostream|vector|string|memory|limits|utility|type_traits|functional|complex|tuple|random|omp\.h"
)
#: The name that Inductor gives a generated file: "c" and 51 characters of a hash in base 32.
_HASHED = r"\bc[a-z2-7]{51}"
#: No file of that name, in the words of compilers; Microsoft's says it in the language of Windows.
_MISSING = r"['\"’”»]?(?::Nosuchfileordirectory|filenotfound|notfound|:Datei|:Aucunfichier|:No(?:existe|hay))"


class Phrase(NamedTuple):
    """A pattern, and the cause that it tells of."""

    cause: str
    pattern: str


#: In the order in which they decide. Without blanks: the text is searched so.
PHRASES = (
    Phrase("main-guard", r"attempthasbeenmadetostartanewprocessbeforethecurrentprocesshasfinished"),
    Phrase(
        "traced-again",
        r"DetectedthatyouareusingFXto(?P<how>symbolicallytrace|torch\.jit\.trace|torch\.export)"
        r"|Module\[OptimizedModule\]ismissingtherequired|symbolicallytraceadynamo-optimized|torch\.jit\.\w+adynamo-optimized",
    ),
    Phrase("donated-buffer", r"compiledwithnon-emptydonatedbuffers"),
    Phrase(
        "python-version",
        r"(?:Dynamo|torch\.compile)(?:is)?notsupportedonPython(?P<python>\d\.\d{1,2})"
        r"|Python(?P<python_2>\d\.\d{1,2})\+?notyetsupportedfortorch\.compile",
    ),
    Phrase(
        "not-built",
        r"Torchnotcompiledwith(?P<built>CUDA|XPU|HIP|MPS|MTIA|HPU)enabled"
        r"|PyTorchisnotlinkedwithsupportfor(?P<built_2>\w{2,12})devices",
    ),
    Phrase(
        "torch-too-old",
        r"module['‘]torch['’]hasnoattribute['‘](?P<missing>_dynamo|_inductor|compile|compiler|export)['’]",
    ),
    Phrase(
        "wrong-device",
        r"TritonError\[(?:CUDA|HIP)\]:(?:contextisdestroyed|invaliddevice(?:context|ordinal)|invalidresourcehandle)",
    ),
    Phrase(
        "ptxas-broken",
        r"ptxas(?:\.exe)?['\"],?['\"]--version['\"]\]'?(?:returnednon-zero|diedwith)",
    ),
    Phrase("platform", r"Windowsnotyetsupportedfortorch\.compile"),
    Phrase(
        "python-headers",
        r"Python\.h"
        + _MISSING
        + r"|[:：]Python\.h[:：](?!\d)|C1083:.{1,80}?Python\.h|includefile'Python\.h'|includefile'(?P<header_2>pyconfig\.h)'|"
        r"(?:LNK1\d{3}|cannotopen|cannotfind)[^;]{0,60}?(?P<library>python3\d{1,2}t?(?:_d)?\.lib)|"
        r"cannotfind-l(?P<library_2>python3[\d.]{1,4}\w?)|(?P<header>pyconfig\.h)"
        + _MISSING
        + r"|(?:file['‘]|cannotfindlibrary:?['‘]?)(?P<library_3>python3\d{1,2}t?(?:\.lib)?)",
    ),
    Phrase(
        "rocm-linker",
        r"ROCmlinker.{0,300}?notfound|SetanyofTRITON_HIP_LLD_PATH|TRITON_HIP_LLD_PATH['’]?toitspath",
    ),
    Phrase("no-user", r"getpwuid\(\):uidnotfound"),
    Phrase("log-settings", r"Invalidlogsettings:.{1,400}?registeredlognames"),
    Phrase("fsdp-params", r"only(?:supports)?FSDPwithuse_orig_params=True"),
    Phrase(
        "cuda-headers",
        r"(?P<header_5>hip/hip_\w{1,24}\.h|level_zero/z\w{1,16}\.h)"
        + _MISSING
        + r"|(?P<header>cuda(?:_runtime(?:_api)?|_fp16|_bf16)?\.h)"
        + _MISSING
        + r"|[:：](?P<header_4>cuda\w{0,14}\.h)[:：](?!\d)|C1083:.{1,80}?(?P<header_2>(?:cuda\w{0,14}|level_zero/z\w{1,16})\.h)|includefile'(?P<header_3>cuda\.h)'",
    ),
    Phrase(
        "msvc-environment",
        r"Cannotopenincludefile:['\"](?P<header_2>[\w./]{2,40})|C1083:(?:.{1,120}?['\"“”„»«「“‘’](?P<header>[\w./]{2,40})['\"“”»«」’])?"
        r"|LNK1(?:104|181)[^;]{0,60}?(?P<library>(?:kernel32|libcmt|msvcrt|ucrt|uuid|oldnames|msvcprt|libucrt|user32)\.lib)|(?P<machine>LNK1112:[^;]{0,80}?['‘“\"](?:x64|ARM64)['’”\"][^;]{0,60}?['‘“\"]x86['’”\"]|OptimizingCompilerVersion[\d.]{5,20}forx86(?![-_\d]))",
    ),
    Phrase(
        "no-msvc",
        r"Compiler:clisnotfound|cpp_builder\.py:check_compiler_exist_windows|'?cl(?:\.exe)?'?isnotrecognized|cl(?:\.exe)?notfound"
        r"|(?:Failedto|Couldnot|cannot)find(?:cl\.exe|MSVC)|MSVC(?:compiler)?(?:is)?notfound"
        r"|WinError2\](?=.{0,600}cpp_builder|.{0,200}'cl')",
    ),
    Phrase(
        "no-compiler",
        r"FailedtofindCcompiler|NoworkingC\+\+compilerfound|InvalidCxxCompiler"
        r"|Compiler:(?P<compiler>[\w./+-]{1,80}?)isnotfound"
        r"|(?:Nosuchfileordirectory|Errno2\][^:]{0,40}|Permissiondenied):'(?P<compiler_2>(?:/[\w./-]{1,80}/)?"
        r"(?:x86_64-[\w-]{1,30}|aarch64-[\w-]{1,30})?(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|icpx|icx)(?:-\d{1,2})?)'"
        r"|(?:/bin/sh:)?(?:\d{1,3}:)?(?P<compiler_3>g\+\+|gcc|clang\+\+|c\+\+)(?:-\d{1,2})?:(?:command)?notfound",
    ),
    Phrase(
        "cache-path",
        r"(?:g\+\+|gcc|clang(?:\+\+)?|c\+\+):(?:fatal)?error:[^;]{0,400}?\.(?:cpp|c):Nosuchfileordirectory",
    ),
    Phrase(
        "toolchain",
        r"(?<![\w/.-])(?P<header>"
        + _OWN_HEADER
        + r")(?<!omp\.h)"
        + _MISSING
        + r"|cannotfind(?:-l|lib)(?P<library>(?!gomp|omp)[\w.+-]{1,40}?)(?::|collect2|\b)"
        r"|unabletofindlibrary-l(?P<library_2>(?!gomp|omp)\w{1,30})|librarynotfoundfor-l(?P<library_3>(?!omp)\w{1,30})"
        r"|cannotexecute['‘’`]?(?P<tool>cc1plus|cc1|as|ld|collect2)|error:unabletoexecutecommand"
        r"|Nosuchfileordirectory:['\"](?P<tool_2>(?:/[\w./-]{1,80}/)?ldconfig)['\"]"
        r"|lib(?P<library_4>cuda(?:\.so(?:\.1)?)?)cannotfound|libcuda\.socannotfound"
        r"|version[`'‘](?P<glibc>(?:GLIBCXX|GLIBC|CXXABI)_[\d.]{1,10})['’]notfound|unrecognizedcommand[- ]?lineoption"
        r"|errorLNK(?:2001|2019):unresolvedexternalsymbol(?!aoti_)|undefinedreferenceto(?!['`‘]?aoti_)",
    ),
    Phrase(
        "ptxas",
        r"Value['‘](?P<arch>sm_\w{1,6})['’]isnotdefinedforoption|ptxas.{0,60}?(?P<arch_2>sm_\w{1,6}).{0,20}?notdefined"
        r"|Unsupported\.version(?P<ptx>\d\.\d);|PTX\.version\d\.\ddoesnotsupport\.target(?P<arch_3>sm_\w{1,6})"
        r"|NoPTXCODEGENsupport|ptxas(?:fatal|error):(?:Unsupported|Unknown)|CannotfindptxasorPTXAS|Cannotfindptxas"
        r"|(?P<arch_4>sm_\w{1,6})['’]?isnotarecognizedprocessor"
        r"|nvccfatal:Unsupportedgpuarchitecture['‘](?P<arch_5>compute_\w{1,6})['’]",
    ),
    Phrase(
        "kernel-image",
        r"devicekernelimageisinvalid|TritonError\[\w+\]:Code:98|Messs?age:invaliddevicefunction|(?:CUDA|HIP)error:invaliddevicefunction|nokernelimageisavailable|providedPTXwascompiledwithanunsupportedtoolchain"
        r"|CUDA_ERROR_(?:INVALID_IMAGE|NO_BINARY_FOR_GPU|UNSUPPORTED_PTX_VERSION)",
    ),
    Phrase(
        "library-load",
        r"\.(?:so|pyd|dylib):undefinedsymbol:|undefinedsymbol:_Z\w{0,40}aoti_|Errorindlopen:|DynamicLibraryError"
        r"|DLLloadfailedwhileimporting|symbolnotfoundinflatnamespace"
        r"|failedtomapsegmentfromsharedobject|\.so(?:\.\d{1,5}){0,3}:(?:cannotopenshared|invalidELF|filetooshort)",
    ),
    Phrase(
        "gpu-too-old",
        r"Found(?P<gpu>[\w.+/-]{2,60}?)whichistooold|tooold?tobesupportedbythetriton"
        r"|onlysupportsdevicesofCUDACapability>=|Devicecapability>=7\.0|GPUTooOldForTriton"
        r"|requires\.target['‘]?(?P<arch>sm_\d{2})['’]?orhigher",
    ),
    Phrase(
        "fp8",
        r"'\*(?P<type_3>fp8e4nv)'.{0,3000}?'cc':(?:[1-7]\d|8[0-8])\b|type(?P<type>fp8e\w{2,6})notsupportedinthisarchitecture|(?P<type_2>fp8e\w{2,6})(?:datatype)?isnotsupportedon"
        r"|(?:Float8|float8|fp8)\w{0,12}(?:is|are)?onlysupportedon|conversionfrom/?to?fp8.{0,40}notsupported|(?P<unnamed>tmp\d{1,5}\.to\(tl\.float(?:32|16|8e4nv))\)\^(?=$|Set|You|The|!!!|Traceback|Prompt|\d\d)",
    ),
    Phrase(
        "flex-attention",
        r"(?:NoValidChoices\w*|Nochoicestoselect).{0,4000}?(?:flex_(?:attention|decoding)|sdpa_score)"
        r"|(?:flex_(?:attention|decoding)|sdpa_(?:mask|score)\d|PRESCALE_QK|SPARSE_Q_BLOCK_SIZE).{0,2000}?(?:NoValidChoices|Nochoicestoselect)"
        r"|(?:NotImplemented|Value|Runtime)Error:.{0,200}?(?:flex_attentiononMPS|supportedinFlexAttention|BACKEND=['\"]FLASH|flex_decodingcannotbeused)"
        r"|(?:Lowering|NotImplemented)\w{4,10}:.{0,400}?flex_(?:attention|decoding)"
        r"|QandKVblocksizemustbedivisible|torch\.compileonCPUonlysupportsinference",
    ),
    Phrase("no-choices", r"NoValidChoicesError|Nochoicestoselect,pleaseconsider"),
    Phrase(
        "out-of-resources",
        r"outof(?:re)?source?s?:(?P<what>sharedmemory|registers|threads|\w{3,20}),Required:(?P<needed>\d{1,12})"
        r"(?:,Hardwarelimit:|.{0,20}?limit:)(?P<limit>\d{1,12})|outofresource:|OutOfResources:|\(C7600\)(?P<what_2>Register)allocationfailed",
    ),
    Phrase(
        "triton-mismatch",
        r"Installedtritonversiontooold|\b[Cc]ompile\(\)gotanunexpectedkeywordargument['‘](?:signature|device|constants|configs|warm_cache_only)['’]|cannotimportname['‘](?P<missing>\w{1,60})['’]from['‘]?(?:partiallyinitializedmodule['‘])?triton"
        r"|['‘](?P<missing_2>triton_key|AttrsDescriptor)['’]|(?P<drivers>\d)activedrivers"
        r"|module['‘]triton[\w.]{0,80}['’]hasnoattribute['‘](?P<missing_3>\w{1,60})"
        r"|Nomodulenamed['‘](?P<missing_4>triton\.[\w.]{1,80})['’]"
        r"|(?:triton|ASTSource|CompiledKernel|JITFunction)[\w.]{0,60}(?:__init__)?\(\)(?:gotanunexpectedkeyword|missing\d)"
        r"|['‘](?:CompiledKernel|JITFunction|ASTSource|KernelMetadata|CUDAOptions|\w{2,8}Backend)['’](?:object)?"
        r"hasnoattribute['‘](?P<missing_5>\w{1,60})|KernelMetadata.{0,20}hasnoattribute|unexpectedkeywordargument['‘](?:num_buffers_warp_spec|num_consumer_groups)",
    ),
    Phrase(
        "no-triton",
        r"Cannotfindaworkingtritoninstallation|TritonMissing|Nomodulenamed['‘]triton['’]"
        r"|[Tt]riton(?:package)?(?:is)?notinstalled|notritoninstallation|(?P<no_wheel>Nomatchingdistributionfoundfortriton|satisfiestherequirementtriton)(?![\w-])",
    ),
    Phrase(
        "xpu-build",
        r"TritonError\[ZE\]|IntelGPUError|TritonZEBINcodegenerror|(?P<result>(?:ZE|UR)_RESULT_ERROR_(?!OUT_OF_)[A-Z_]{1,60}?)(?:[A-Z][a-z]|[^A-Z_]|$)|IGC:(?P<igc>InternalCompilerError)"
        r"|L0buildmodulefailed|PI_ERROR_BUILD_PROGRAM_FAILURE|ocloc(?:failed|error)|triton/backends/intel/.{0,400}?Assertion[`'‘].{1,200}?failed"
        r"|Command'?\[['\"](?:[^'\"]{0,200}?[/\\])?(?P<tool>ocloc)(?:\.exe)?['\"].{0,2000}?(?:non-zeroexitstatus|diedwith)",
    ),
    Phrase(
        "metal",
        r"program_source:\d{1,6}:\d{1,4}:(?:fatal)?error|[Ff]ailedtocreate[Mm]etallibrary|MTLLibraryError"
        r"|failedtocompile.{0,200}[Mm]etal|[Mm]etal.{0,80}failedtocompile|torch\.mps\.compile_shader.{0,200}error",
    ),
    Phrase(
        "collective-timeout",
        r"Watchdogcaughtcollectiveoperationtimeout|[Cc]ollectiveoperationtimeout:WorkNCCL"
        r"|Timeout\(ms\)=\d{1,9}\)ranfor\d"
        r"|(?:NCCL.?swatchdog|swatchdog(?=.{1,24}withoutmakingprogressinmon))gotstuckfor(?P<stuck>\d{1,6})seconds"
        r"|Notallranksjoiningcollective|TimeoutatNCCLwork:\d|thatcausedthedesyncare:-?\[(?P<behind>[\d,]{1,80})\](?P<left>joined|finished)\D{0,30}#(?P<seq>\d{1,9})|ranks?\[(?P<behind_2>[\d,]{1,80})\]arethelaggingranks",
    ),
    Phrase(
        "nccl-error",
        r"NCCLerror(?:in)?:(?:.{0,300}?(?P<nccl>unhandled\w{2,12}error|invalidusage|invalidargument|internalerror"
        r"|remoteprocessexited))?",
    ),
    Phrase(
        "out-of-memory",
        r"(?<!java\.lang\.)OutOfMemoryError|(?P<device>CUDA|HIP|XPU|MPS(?:backend)?)outofmemory"
        r"|CUDAerror:outofmemory|CUDA_ERROR_OUT_OF_MEMORY",
    ),
    Phrase(
        "recompute",
        r"CheckpointError|unexpectedlywronginactivationcheckpoint|differentnumberoftensorswassavedduring|Recomputedvaluesforthefollowingtensors|savedmetadata:\{.{1,200}?recomputedmetadata:\{",
    ),
    Phrase(
        "size-stride",
        r"expectedsize(?P<size>\d{1,15})==(?P<expected>\d{1,15}),stride(?P<stride>\d{1,15})==(?P<wanted>\d{1,15})atdim="
        r"(?P<dim>\d{1,3})|assert_size_strideAssertionError|wrongnumberofdimensions.{0,400}assert_size_stride"
        r"|incorrectfake\(akameta\)kernel|wrongnumberofdimensions\d{1,3}(?:forop:(?:(?P<input_2>input)(?!\w))?|$)|Errorinop:(?P<input>input)(?=Thiserrormost)|assert_size_stride\((?P<input_3>arg\d{1,6}_\d{1,3}|primals_\d{1,6}),(?P<sizes>\([^()]{0,200}\))(?=.{0,300}?AssertionError:(?:wrongnumberofdimensi|expectedsize\d))",
    ),
    Phrase(
        "data-dependent",
        r"Triedtousedata-dependentvalueinthesubsequentcomputation|Couldnot(?:guardon|extractspecializedintegerfrom)data-dependentexpression|GuardOnDataDependentSymNode"
        r"|failed(?:during|whilerunning)evaluate_expr\((?:\*\()?(?P<asked>[^=]{0,200}?\b[uz]\w{0,4}\d[^=]{0,200}?),(?:hint=)?None",
    ),
    Phrase(
        "constraint",
        r"ConstraintViolationError|Constraintsviolated\(|Notallvaluesof.{1,300}?inthespecifiedrange.{0,300}?satisfythegenerated"
        r"|wasinferredtobeaconstant\(\d|raiseconstraint_violation_error",
    ),
    Phrase("recompile-error", r"RecompileError:Recompilingfunction|compilestanceis'fail_on_"),
    Phrase(
        "recompile-limit",
        r"FailOn(?:Cache|Recompile)LimitHit|(?:Cache|Recompile)LimitExceeded|(?:cache_size|recompile)_limitreached"
        r"|Unsupported:(?:Dynamo)?(?:cache_size|recompile)_?limit",
    ),
    Phrase(
        "graph-pool",
        r"(?:cudaMallocAsync|pluggable|CUDAPluggableAllocator)doesnotyetsupport|live_blocks\.size\(\)==expected_live_allocations|curr_block->next==nullptr|checkPoolLiveAllocations"
        r"|accessedtensor\(?s?\)?.{0,4000}?isnottrackedasoutput|allocationsinthecudagraphpool",
    ),
    Phrase(
        "output-overwritten",
        r"tensoroutputofCUDAGraphsthathasbeenoverwritten|Topreventoverwriting,clonethetensor",
    ),
    Phrase(
        "inference-tensor",
        r"Inferencetensors(?:donottrackversioncounter|cannotbesavedforbackward)|Cannotsetversion_counterforinferencetensor|Inplaceupdatetoinferencetensoroutside",
    ),
    Phrase(
        "onnx-export",
        r"TorchExportError:|OnnxExporterError:|RuntimeErrorWithDiagnostic:|onnx\S{1,60}errors\.\w{1,40}Error:",
    ),
    Phrase(
        "compiled-keys",
        r"(?:Missingkey|Unexpectedkey|sizemismatch).{0,4000}?['\"](?P<key>(?:[\w.]{1,200}\.)?_orig_mod\.[\w.]{1,200})",
    ),
    Phrase(
        "compile-option",
        r"Unexpectedoptimizationoption(?P<option>[\w.]{1,80}?),known|Unexpectedoptimizationoption(?P<option_2>[\w.]{1,80})"
        r"|Unrecognizedmode=(?P<mode>[\w-]{1,40}),shouldbeone|Eithermodeoroptionscanbespecified",
    ),
    Phrase("unpicklable-error", r"BackendCompilerFailed\.__init__\(\)(?:ismissing|missing)"),
    Phrase(
        "unpicklable", r"cannotpickle'ConfigModuleInstance'|Can'tpickle.{0,200}?OptimizedModule"
    ),
    Phrase("backward-threads", r"compiled_autograd\.enable\(\)requiresnothreads"),
    Phrase("double-backward", r"doesnotcurrentlysupportdoublebackward"),
    Phrase("batched-backward", r"callacompiledbackwardfunctionwithinvmap/grad/vjp,which"),
    Phrase("cpu-pointer", r"cannotbeaccessedfromTriton"),
    Phrase("aoti-call", r"\b(?P<call>aoti_torch_\w{1,60}?)\(.{0,2000}?APIcallfailedat"),
    Phrase(
        "msvc-language",
        r"onlysupportMSVCwithEnglishlanguagepack|UnicodeDecodeError",
    ),
    Phrase("backend-unknown", r"InvalidBackend|Invalidbackend:"),
    Phrase(
        "cache-broken",
        r"UnpicklingError|EOFError:Ranoutofinput|pickledatawastruncated|JSONDecodeError:Expectingvalue",
    ),
    Phrase(
        "capture",
        r"notpermitted(?:when|whena)?streamiscapturing|CUDA_ERROR_STREAM_CAPTURE|cudaErrorStreamCapture"
        r"|operationfailedduetoapreviouserrorduringcapture|Cannot\w{1,20}[^.]{0,80}?duringCUDAgraphcapture",
    ),
    Phrase("engine-capture", r"Capturecudagraphfailed:"),
    Phrase("gpu-fault", r"MemoryaccessfaultbyGPUnode"),
    Phrase(
        "operator-aliases",
        r"operatorwhoseoutputhasaliasannotations|onlysupportfunctionalizingoperatorswhoseoutputs",
    ),
    Phrase(
        "changed-in-place",
        r"CompiledFunction(?:Backward)?(?:isaview|,isatversion|\]?,?whichisoutput)|outputofCompiledFunction",
    ),
    Phrase("not-close", r"AssertionError:(?:Tensor-likes|Scalars)arenot(?:close|equal)"),
    Phrase("skipped-guards", r"Recompilationtriggeredwithskip_guard_eval_unsafe"),
    Phrase("two-openmp", r"OMP:Error#15"),
    Phrase(
        "cache-dir",
        r"mostcommonreasonthismayoccurisif.{0,300}?mountedwithnoexec|(?:Errno(?:13|28|30|122)\]|WinError(?:3|5|32|183|206)\]|Permissiondenied|Nospaceleftondevice)"
        r"[^'\"]{0,120}['\"](?P<folder>[^'\"]{0,200}?(?:torchinductor\w*|triton(?:_cache)?))\b",
    ),
    Phrase(
        "windows-refused",
        r"(?:(?<='inductor'raised:)|(?<=InductorError:))PermissionError:\[WinError(?:5|32)\](?![^'\":]{0,120}:['\"](?!.{0,200}?[\\/]Temp[\\/]))",
    ),
    Phrase(
        "cache-gone",
        r"Errno2\]Nosuchfileordirectory:['\"](?P<path>[^'\"]{0,300}?(?:torchinductor_|\.triton[/\\]|[/\\]triton[/\\]+\d[/\\])[^'\"]{0,400})",
    ),
    Phrase(
        "no-openmp",
        r"'?omp\.h'?(?::Nosuchfile|filenotfound)|cannotfind-lg?omp\b|librarynotfoundfor-lomp|library'l?g?omp'notfound|unsupportedoption['‘]-fopenmp",
    ),
    Phrase(
        "fake-tensors",
        r"DynamofailedtorunFXnodewithfaketensors|erroneouslytracingintoacustomkernel|UnhandledFakeTensorDevicePropagation|FakeTensorDeviceMismatchError|UnsupportedOperatorException|Cannotaccessdatapointerof(?:Tensor|Storage)|UnsupportedFakeTensorException|RuntimeErrorwhenmakingfaketensorcall|TorchRuntimeError"
        r"|Failedrunningcall_(?:function|method|module).{0,4000}?FakeTensor\("
        r"|whenmakingfaketensorcall|Nofakekernelwasfound|registeredafakeclass|register_fake\(\.\.\.\)|\w_fake(?:_impl)?\(\)(?:missing\d{1,2}required|gotanunexpectedkeyword|gotmultiplevalues|takes(?:from)?\d{1,2}(?:to\d{1,2})?positional)|registertheFakeimpl"
        r"|torch\.Size\(\[[^\]]{0,200}?\b[su]\d|Pleaseconvertall(?:Tensors|tensors)toFakeTensorsfirst|Cannotcall\w{1,40}\(\)ontensorwithsymbolicsizes/strides",
    ),
    Phrase("fake-tensors", r"(?<=\}\):)(?!got)\w.{1,1500}?fromusercode:File"),
    Phrase(
        "ptxas",
        r"Command'?\[['\"][^'\"]{1,300}ptxas(?:\.exe)?['\"].{1,600}?--gpu-name=(?P<arch>sm_\w{1,6}).{1,600}?non-zeroexitstatus"
        r"|ptxas(?:fatal|error):Ptxassemblyaborted|NoTritonConfigsError"
        r"|`?ptxas`?failedwitherrorcode|InternalTritonPTXcodegenerror(?:`ptxas`stderr:)?",
    ),
    Phrase(
        "triton-launcher",
        r"Command'?\[['\"].{0,4000}?(?:main|cuda_utils|__triton_launcher|driver|hip_utils)\.c(?:pp)?\b"
        r"|(?P<refused>(?:[/\\](?:triton[/\\]backends[/\\]\w{2,12}|third_party[/\\]\w{2,12}[/\\]backend)[/\\](?:include[/\\])?[\w./\\-]{1,60}|\b(?:cuda|hip|spirv)_utils\.c\w{0,2}|\b__triton_launcher\.c\w{0,2}):\d{1,6}:\d{1,6}):(?:fatal)?error:(?:['\"‘]?(?P<absent>[\w./+-]{2,60}?)['\"’]?(?::Nosuchfileordirectory|filenotfound))?",
    ),
    Phrase("lost-size", r"NameError:name'[suz]\d{1,4}'isnotdefined"),
    Phrase("internal-compiler", r"LLVMERROR:"),
    Phrase(
        "worker",
        r"SubprocException|BrokenProcessPool|compilationsubprocessexitedunexpectedly"
        r"|backgroundworkersarenolongeralive|processpoolwasterminatedabruptly|CannotreinitializeCUDAinforkedsubprocess"
        r"|Cannotre-initializeCUDAinforked|compile-workerfuturefor|Attemptingtouseaclosedpool",
    ),
    Phrase(
        "generated-cpp",
        r"unresolvedexternalsymbol(?P<symbol>aoti_\w{1,80}?)referenced|CppCompileError|C\+\+compileerror|Command'\['[^']{0,200}(?:g\+\+|clang\+\+|c\+\+)'.{1,3000}?/torchinductor_[^']{1,200}\.cpp'\]'returnednon-zero|"
        + _HASHED
        + r"(?:\.main)?\.(?:cpp|h):\d{1,7}:\d{1,7}:(?:fatal)?error:|torchinductor_[^:]{1,200}\.(?:cpp|h):\d{1,7}:\d{1,7}:(?:fatal)?error:|torch[/\\]include[/\\]ATen[/\\]cpu[/\\]vec[/\\][\w./\\]{1,80}(?::\d{1,7}:\d{1,7}:(?:fatal)?|\(\d{1,7}\):)error",
    ),
    Phrase("triton-passes", r"PassManager::runfailed|MLIRpasspipeline"),
    Phrase("internal-triton", _HASHED + r"\.py:\d{1,7}:\d{1,7}:error:"),
    Phrase("native-op", r"(?<=inforward_nativeraiseNotImplementedError)NotImplementedError"),
    Phrase("internal-dynamo", r"InternalTorchDynamoError"),
    Phrase(
        "fullgraph",
        r"torch\._dynamo\.exc\.(?:Unsupported|UserError):|Exceptionhasoccurred:Unsupported(?!Operation|Error|Exception|Type|Media)|fullgraph=Truefoundnocompiledframes"
        r"|FullGraphCompileError|UnsupportedTraceback\(mostrecentcalllast\)|(?<!Reason:)(?<!')Unsupported(?::|[–—-]{1,2})(?=.{0,300}?Variable\()"
        r"|(?<!Reason:)(?<!')Unsupported:(?:call_(?:function|method|id)(?:[A-Z<]|args|self|withargs|on|\w{1,80}in(?:skip_?files|file['/]))|Tensor\.(?:item|tolist|numpy|data_ptr)|generic_jump|builtin:"
        r"|inlin|missing:|(?:datadependent|dynamicshape)operator|torch\.\*op|Data-dependent|Dynamiccontrol|Graphbreak|hasattr|setattr|super\(|Unsupported|reconstruct|Attemptedto)"
        r"|(?<!Reason:)(?<!')(?:Unsupported|UserError):(?=.{0,4000}(?:fromusercode|TORCHDYNAMO|Developerdebugcontext))"
        r"|Explanation:(?=.{1,4000}?Developerdebugcontext:.{0,4000}?fromusercode:File)|exportdb/index\.html#[\w-]{1,60}fromusercode:",
    ),
    # ... of a kernel of the program's own; what Inductor writes is told below.
    Phrase(
        "kernel-code",
        r"arange'srangemustbeapowerof2|(?:[Ss]hapeelement|[Bb]lock_?(?:shape|size))\w{0,20}mustbeapowerof(?:2|two)|arange'sargumentsmustbeof"
        r"|Didyouforgettoadd@triton\.jit|Unsupportedtype<class'triton\.language|Cannotaccessglobalvariable\w{1,80}fromwithin@jit"
        r"|invalidoperandsoftypepointer<|Unsupportedlanguageconstruct|IncompatibleTypeErrorImpl",
    ),
    Phrase(
        "internal-compiler",
        r"(?:triton::|python[\d.]{0,6}:/[^:]{0,200}?(?:llvm|mlir|triton)[^:]{0,200}:\d{1,6}:).{0,600}?Assertion[`'‘].{1,400}?failed|BackendCompilerFailed|InductorError|LoweringException|backend=['\"]?(?P<backend>\w{1,40})['\"]?raised:"
        r"|triton\.compiler\.errors\.|CompilationError:at\d{1,5}:\d{1,5}|CUDACompileError|PTXASError"
        r"|aot_autogradexpected|AOTAutogradhasencountered|AccuracyError|InductorErrorTraceback\(mostrecentcalllast\)|Errorincodegenfor\w{1,40}\(|TranslatetoLLVMIRfailed|FXGraphCacheMiss|MetadataMismatchError|FunctionalTensoronitsown|Dispatcheroperatorsbelowautogradarenot"
        r"|aot_export(?:_\w{1,20})?(?:doesnot|requires|isnot|workflow)|intheaot_exportworkflow",
    ),
    Phrase(
        "crash",
        r"FatalPythonerror:(?P<signal>Segmentationfault|Aborted|Buserror|Illegalinstruction|Floating)",
    ),
    Phrase(
        "collective-watchdog",
        r"Exceptionraisedfrom(?:checkTimeout|ncclCommWatchdog)at|ProcessGroupNCCL::(?:WorkNCCL::checkTimeout|ncclCommWatchdog)\(|Receiveda(?:dump|timeout)signal(?:duetoacollectivetimeout|fromthislocalrank)|SomeNCCLoperationshavefailedort"
        r"|(?:Rank\d{1,6}|NCCL\.cpp:\d{1,5})\](?:Toavoiddatainc|Heartbeatmonitortimed|failuredetectedbyw|Terminatingtheprocessaft|Observedflightr|ProcessGroupNCCLpreparingtod)",
    ),
    Phrase(
        "engine-start",
        r"EngineCorefailedtostart|Enginecoreinitializationfailed|Engineprocessfailedtostart|WorkerProcinitializationfailed|WorkerProcfailedtostart",
    ),
    Phrase(
        "engine-died",
        r"Workerfailedwitherror.{1,600}?,pleasecheckthestacktrace|(?:Scheduler|WorkerProc|EngineCore)hitanexception|EngineCoreencounteredafatal",
    ),
    Phrase(  # torch writes it below whatever it does not know
        "internal-dynamo",
        r"Youcansuppressthisexceptionandfallbacktoeager|Error:.{1,600}?fromusercode:(?:File|$)",
    ),
)
