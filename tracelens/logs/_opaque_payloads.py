"""The records of torch's structured log that are understood and not read, each with the reason.

What is neither here nor read is counted as a line that torch wrote and nobody reads yet. The names
are those of torch 2.3 to 2.15: ``trace_structured`` and its kin in torch's sources, and the logs of
versions whose sources are gone.
"""

from __future__ import annotations

import re

__all__ = ["reason"]

_SINGLE = "a graph around one pass; the graph after all passes is read"
_REPRO = "source to run or to debug the graph, not about it"
_PROVENANCE = "a part of the mappings of nodes, which are read"
_COLLECTIVES = "a table for whoever tunes the overlap of collectives"
_PGO = "sizes kept from run to run; what they made dynamic is read where it is used"
_INPUT = "an input, as metadata; the graph has its shape, dtype and strides"
_WRAPPER = "generated Python around the graph, the same for all graphs of its kind"
_EXPORT = "a result of torch.export, which is not compiled here"
_FAILED = "printed by default as well"

#: Key of the envelope, or name of the artifact -> why nothing in it is read.
OPAQUE: dict[str, str] = {
    # Inputs and sources
    "describe_tensor": _INPUT,
    "describe_storage": _INPUT,
    "describe_source": _INPUT,
    "describer_id": _INPUT,
    "dump_file": "the source of a generated module, which the graphs show",
    "link": "an address of another system",
    "cprofile_manifold_url": "an address of another system",
    "torch._functorch.config": "the settings of AOTAutograd; no rule is about them",
    "compiler_collective": "what ranks told each other before they compiled",
    # The compilation
    "dynamo_guards": "the guards one by one, without their tree; the tree is read",
    "dynamo_side_effects": "mutations that the bytecode repeats; the metrics count them",
    "bwd_compilation_metrics": "seconds of a backward pass; its events say them, and finer",
    "compilation_metrics_runtime": "seconds of tuning at run time; its events say them, and finer",
    "bwd_compilation_metrics_runtime": "the same of a backward pass",
    "dynamo_cache_bypass": "a package for another machine, not this run",
    "dynamo_cache_entries": "a package for another machine, not this run",
    "dynamo_cache_exception": "a package for another machine, not this run",
    "precompile_cache_bypass": "a package for another machine, not this run",
    "optimize_ddp_split_graph": "a graph before DDP cut it; the parts are read",
    "optimize_ddp_split_child": "a part of a graph, which is compiled and read as its own",
    "put_local_code_state": _PGO,
    "put_remote_code_state": _PGO,
    "put_extra_remote_code_state": _PGO,
    "get_local_code_state": _PGO,
    "get_remote_code_state": _PGO,
    "get_extra_remote_code_state": _PGO,
    # Shapes
    "guard_on_data_dependent_error": "made also where it is caught; what ends in an error is read",
    "exported_program": _EXPORT,
    "export": _EXPORT,
    # AOTAutograd
    "aot_joint_graph": "both passes in one; the graph of each pass is read",
    "aot_forward_graph_fw_metadata": "how inputs and outputs alias, as a Python expression",
    "aot_forward_graph_fw_subclass_metadata": "how inputs and outputs alias, as an expression",
    "aot_inference_graph_after_hop_passes": _SINGLE,
    "aot_joint_graph_sync_decision_cross_ranks": _COLLECTIVES,
    "aot_saved_tensors_hooks_graphs": "graphs of hooks, a part of those that are read",
    "aot_autograd_runtime_wrappers": _WRAPPER,
    "runtime_wrapper_orchestration": _WRAPPER,
    "compiled_function_forward": _WRAPPER,
    "compiled_function_backward": _WRAPPER,
    "backward_prologue": _WRAPPER,
    "backward_epilogue": _WRAPPER,
    "backward_subclass_unwrap": _WRAPPER,
    "mutation_epilogue": _WRAPPER,
    "aotautograd_cache_pickle_failure": "the bypass that follows says it",
    "eager_compile_backwards_failure": "the backward pass is compiled later; if not, an error says",
    "compiled_autograd_graph": "the graph that Dynamo traces next, and that is read",
    "compiled_autograd_graph_pre_reordering": _SINGLE,
    "invoke_subgraph_backward_duplicate": _FAILED,
    "make_fx_fail_partial": _FAILED,
    "fx_interpreter_error": _FAILED,
    "min_cut_information": "what the partitioner weighed; the graphs show what it chose",
    "min_cut_failed_edge_list": _REPRO,
    "min_cut_failed_fx_graph": _REPRO,
    "min_cut_failed_svg": _REPRO,
    # Inductor
    "fx_graph_runnable": _REPRO,
    "graph_dump": "code of AOTInductor, which runs elsewhere",
    "inductor_aot_wrapper_code": "code of AOTInductor, which runs elsewhere",
    "inductor_aot_kernel_code": "code of AOTInductor, which runs elsewhere",
    "inductor_autotune_at_compile_time_code": _REPRO,
    "inductor_input_graph": _SINGLE,
    "inductor_pre_grad_graph": _SINGLE,
    "inductor_post_to_pre_grad_nodes": _PROVENANCE,
    "inductor_triton_kernel_to_post_grad_nodes": _PROVENANCE,
    "triton_kernel_info": "seconds to compile each kernel; the events have their sum",
    "fx_compute_nodes_runtime_estimation": "times as estimated; traces have them as measured",
    "fx_collectives_analytical_estimation": "times as estimated; traces have them as measured",
    "fx_collectives_node_runtime_estimation": "times as estimated; traces have them as measured",
    "pge_profile_vs_analytical": "times as estimated; traces have them as measured",
    "inductor_spmd_graph_mismatch": _FAILED,
    "inductor_overlap_cyclic_extra_deps": _FAILED,
    "inductor_fx_passes_overlap_bucketing": _COLLECTIVES,
    "fx_bucketing_passes_all_gather_buckets": _COLLECTIVES,
    "fx_bucketing_passes_reduce_scatter_buckets": _COLLECTIVES,
    "overlap_scheduling_graph_before": _SINGLE,
    "overlap_scheduling_graph_after": _SINGLE,
    "pre_bucketing_collective_sizes": _COLLECTIVES,
    "pre_bucketing_collective_sizes_after": _COLLECTIVES,
    "pre_bucketing_fsdp_collectives": _COLLECTIVES,
    "pre_decomp_comms": _COLLECTIVES,
    "post_decomp_comms": _COLLECTIVES,
    "reorder_communication_preserving_peak_memory": _COLLECTIVES,
    "scheduler_nodes_before_comm_overlap": _COLLECTIVES,
    "sink_waits_iterative_info": _COLLECTIVES,
    "fx_net_acc_splitter_finder_events": "of a splitter for other accelerators",
}
#: The same for names with a part that is not torch's to choose: a function, a pass, a graph.
OPAQUE_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r".*_(?:ORIGINAL|MODIFIED)_BYTECODE"), "bytecode of a frame; graphs are read"),
    (re.compile(r"(?:before|after)_\w*graph"), _SINGLE),
    (re.compile(r"(?:before|after)_recompile_(?:pre|post)_grad"), _SINGLE),
    (re.compile(r"(?:before|after)_activation_quantization_\w+"), _SINGLE),
    (re.compile(r"(?:before|after)_[\w.]+_(?:pre|post)_grad"), _SINGLE),
    (re.compile(r"[\w.]+_(?:pre|post)_grad"), _SINGLE),
    (re.compile(r"(?:optimus|cff)_\w+"), _SINGLE),
    (re.compile(r"aot_\w*joint_graph\w*|\w+_joint_graph"), _SINGLE),
    (re.compile(r"aot_saved_tensors_hooks_(?:un)?pack .*"), "a graph of a hook"),
    (re.compile(r"[a-z_]+_wrapper"), _WRAPPER),
    (re.compile(r".*_fused"), "what was planned for the memory of a graph"),
    (re.compile(r".*_ITERATIVE_RECOMPUTE_ERROR"), _COLLECTIVES),
)


def reason(name: str) -> str | None:
    """Return why records of that name are not read; None for a name that torch is not known by."""
    if (found := OPAQUE.get(name)) is not None:
        return found
    return next((why for pattern, why in OPAQUE_PATTERNS if pattern.fullmatch(name)), None)
