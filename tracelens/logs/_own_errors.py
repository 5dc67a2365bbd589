"""The exceptions of torch's compiler and exporter, and which of them others have, too."""

from __future__ import annotations

__all__ = ["GENERIC_ERRORS", "OWN_ERRORS"]

#: Names that other programs give to exceptions of their own.
GENERIC_ERRORS = frozenset(
    {
        "ConstraintViolationError",
        "InfiniteGeneratorError",
        "MetadataMismatchError",
        "RecompileError",
        "SpecViolationError",
        "Unsupported",
        "UserError",
    }
)

#: Notebooks print them without their modules.
OWN_ERRORS = (
    "AOTIMinifierError",
    "BackendCompilerFailed",
    "BypassAOTAutogradCache",
    "BypassFxGraphCache",
    "CUDACompileError",
    "CondOpArgsMismatchError",
    "ConstraintViolationError",
    "CppWrapperCodegenError",
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensorDeviceMismatchError",
    "InfiniteGeneratorError",
    "IntelGPUError",
    "MetadataMismatchError",
    "NoTritonConfigsError",
    "ObservedAttributeError",
    "ObservedException",
    "ObservedKeyError",
    "ObservedTypeError",
    "OnnxExporterError",
    "PTXASError",
    "RecompileError",
    "ResumePrologueTracingError",
    "SpecViolationError",
    "SubgraphLoweringException",
    "TorchDynamoException",
    "TorchExportError",
    "TorchRuntimeError",
    "UncapturedHigherOrderOpError",
    "UnsupportedAliasMutationException",
    "UnsupportedMutationAliasingException",
    "UnsupportedOperatorException",
)
