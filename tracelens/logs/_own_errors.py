"""The exceptions that none but torch's compiler and exporter raise."""

from __future__ import annotations

__all__ = ["OWN_ERRORS"]

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
