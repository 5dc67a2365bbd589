"""Messages that say what they mean are answered by the table, whoever prints them beside torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze
from tracelens.errors import SourceError
from tracelens.failures.causes import hits, squeeze
from tracelens.failures.refusals import Refusal, refusal, refusals

SITE = "/home/ana/venv/lib/python3.11/site-packages"
EAGER = f"""Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 61, in main
    out = model(batch)
  File "{SITE}/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: {{}}
"""
LOADING = "Error(s) in loading state_dict for Linear:"
DEVICES = "Expected all tensors to be on the same device"
SAID = [(one, text.replace("*", " of it ")) for one in refusals() for text in one.shown]


def first(text: str, folder: Path) -> Finding:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


@pytest.mark.parametrize(("one", "text"), SAID, ids=[text for _, text in SAID])
def test_the_words_of_an_entry_are_answered_by_it(one: Refusal, text: str) -> None:
    assert refusal(f"RuntimeError: {text} (1, 2)") == one
    assert len(text) > 9


@pytest.mark.parametrize(("rows", "is_empty"), [("0L", True), ("20L", False), ("s0", False)])
def test_an_index_into_nothing_is_no_index_that_is_too_large(rows: str, is_empty: bool) -> None:
    """Code that was compiled for no rows has no largest index to compare with."""
    told = refusal(
        f"RuntimeError: kernel, /x/c.main.cpp:39, index out of bounds: 0 <= tmp2 < {rows}"
    )
    assert told is not None
    assert ("no rows" in told.what) is is_empty


def test_an_error_of_the_program_is_told_with_its_line_and_no_bisecting(tmp_path: Path) -> None:
    text = "mat1 and mat2 shapes cannot be multiplied (32x784 and 512x10)"
    found = first(EAGER.format(text), tmp_path)
    assert found.title == f"a matrix product of tensors whose shapes do not fit: {text}"
    assert "proj/train.py:61" in found.message
    assert "error of the program's own" in found.message
    assert [one.id for one in found.advice] == ["known-message"]
    assert "in_features" in found.advice[0].text


def test_what_a_message_says_of_the_machine_is_not_the_programs(tmp_path: Path) -> None:
    found = first(EAGER.format("CUDA error: no kernel image is available for"), tmp_path)
    assert "program's own" not in found.message
    found = first(EAGER.format("The NVIDIA driver on your system is too old"), tmp_path)
    assert found.title.startswith("the NVIDIA driver is older")
    assert "program's own" not in found.message


def test_a_kernel_that_may_have_been_compiled_is_looked_for_by_stages(tmp_path: Path) -> None:
    frame = '  File "/tmp/torchinductor_ana/7k/c7kf.py", line 21, in call\n    f()\n'
    head = "Traceback (most recent call last):\n"
    text = f"{head}{frame}RuntimeError: CUDA error: an illegal memory access was encountered\n"
    ids = [one.id for one in first(text, tmp_path).advice]
    assert ids[0] == "known-message"
    assert "bisect" in ids
    text = f"{head}{frame}RuntimeError: CUDA error: invalid device ordinal\n"
    assert "bisect" not in [one.id for one in first(text, tmp_path).advice]
    text = f"{head}{frame}RuntimeError: expected scalar type Half but found Float\n"
    assert [one.id for one in first(text, tmp_path).advice] == ["known-message", "eager"]


def test_a_fault_under_inductor_is_not_called_its_bug(tmp_path: Path) -> None:
    error = "torch._inductor.exc.InductorError: RuntimeError: {}\n"
    found = first(error.format("No CUDA GPUs are available"), tmp_path)
    assert "a bug of" not in found.title
    found = first(error.format("INTERNAL ASSERT FAILED at x.cpp:3"), tmp_path)
    assert "a bug of" in found.title


def test_what_a_launcher_logs_after_it_is_not_told_in_its_place(tmp_path: Path) -> None:
    log = (
        "W0612 10:11:12.000001 471 torch/distributed/elastic/api.py:900] Sending process 1 SIGTERM"
    )
    error = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"
    assert first(f"{error}\n{log}\n", tmp_path).title.startswith("a matrix product")


@pytest.mark.parametrize(
    "text",
    [
        "Error: listen EADDRINUSE: address already in use :::3000",
        "_pickle.UnpicklingError: invalid load key, 'v'.",
        "Could not load dynamic library 'libcudart.so.11.0'",
        "numpy.core._exceptions.MemoryError: Unable to allocate 1 GiB for an array with shape (9,)",
        "IndexError: index 5 is out of bounds for axis 0 with size 3",
        "E tensorflow/cuda_dnn.cc:353] Could not create cudnn: CUDNN_STATUS_NOT_INITIALIZED",
        "Missing key(s) in state_dict: []",
        "song.wav: unsupported format tag 0x55",
        "database: could not create an engine",
        "AbortedError: Operation received an exception: could not create a primitive",
        "server: Timed out after 30 s waiting for clients",
        "encoder: Output size is too small (12 bytes)",
        "Target 12 is out of bounds, moving on",
        "ValueError: all columns must have the same dtype",
        "ValueError: Found dtype int64 but expected float64",
        "debugger: Numpy is not available, continuing without",
        "parse: Expected input at line 3 to be equal to )",
        "CUDA error: an illegal memory access was encountered in ggml_backend_cuda_synchronize",
        "CUDA SETUP: Loading binary /opt/bitsandbytes/libbitsandbytes_cuda116.so...",
    ],
)
def test_words_that_others_print_too_are_nobodys_alone(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        first(f"{text}\n", tmp_path)


def test_words_that_others_print_too_are_told_beside_torch(tmp_path: Path) -> None:
    frame = f'  File "{SITE}/transformers/modeling_utils.py", line 9, in load\n    f()\n'
    text = "Traceback (most recent call last):\n{}safetensors_rust.SafetensorError: Error while "
    text += "deserializing header: HeaderTooLarge\n"
    assert first(text.format(frame), tmp_path).title.startswith("a file of weights is broken")
    with pytest.raises(SourceError):
        first(text.format(frame.replace("transformers", "other")), tmp_path)


def test_another_cause_that_is_known_comes_first() -> None:
    told = "RuntimeError: Cannot re-initialize CUDA in forked subprocess"
    assert refusal(told) is not None
    assert next(cause for cause, *_ in hits(squeeze([told])[0])) == "worker"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The size of tensor a (7) must match the size of tensor b (8)", "broadcast"),
        ("The size of tensor a (7) is what it is; the other must match", None),
        ("\"addmm_impl_cpu_\" not implemented for 'Half'", "no-kernel-for-dtype"),
        ("not implemented for Half", None),
        ("result type Float can't be cast to the desired output type Long", "same-dtype"),
        ("mat1 and mat2 must have the same dtype, but got Double and Float", "float64"),
        ("mat1 and mat2 must have the same dtype, but got Float and Double", "float64"),
        ("mat1 and mat2 must have the same dtype, but got Half and Float", "same-dtype"),
        ("expected m1 and m2 to have the same dtype, but got: float != double", "float64"),
        ("RuntimeError: Found dtype Double but expected Float", "float64"),
        ("RuntimeError: Found dtype Float but expected Half", "same-dtype"),
        ("Expected target size [2, 10], got [2]", "target-size"),
        (f"{LOADING}\n\tsize mismatch for w: copying a param with shape [9]", "state-dict-size"),
        (f'{LOADING}\n\tMissing key(s) in state_dict: "w"', "state-dict"),
        ("IndexError: Target 5 is out of bounds.", "embedding-range"),
        ("kernel, /c/7d/x.main.cpp:22, index out of bounds: 0 <= tmp2 < 15L", "embedding-range"),
        ("src/main.rs:4:5: index out of bounds: the len is 3", None),
        (
            "index_add_(): self (Float) and source (BFloat16) must have the same scalar type",
            "written-dtype",
        ),
        ("self and source must have the same scalar type", None),
        ("Given groups=1, expected weight to be at least 1 at dimension 0, but", "empty-weight"),
        (f"{DEVICES}, but found at least two devices, cuda:0 and meta!", "meta-device"),
        (f"{DEVICES}, but found at least two devices, meta and cuda:0!", "meta-device"),
        (f"{DEVICES}, but found at least two devices, cpu and cuda:0!", "same-device"),
        ("libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4", "cuda-library-pair"),
        ("libcudart.so.12: cannot open shared object file: No such file", "cuda-library"),
        ("libcublas.so.12: version `libcublas.so.12' not found", None),
        ("MisconfigurationException: AMP is only available on GPU", None),
        ("Could not run 'torchvision::nms' with arguments from the 'MPS' backend", None),
        ("Expected input at *args[0].shape[0] to be equal to 4, but got 5", "export-sizes"),
    ],
)
def test_the_parts_of_words_follow_each_other(text: str, name: str | None) -> None:
    found = refusal(text)
    assert (found.name if found else None) == name


ENGINE = f"""Traceback (most recent call last):
  File "{SITE}/vllm/model_executor/layers/fused_moe/layer.py", line 68, in apply
    return self.forward_cuda(x)
  File "{SITE}/vllm/model_executor/custom_op.py", line 29, in forward_cuda
    raise NotImplementedError
NotImplementedError
"""


def test_an_error_without_a_message_in_an_engine_is_told(tmp_path: Path) -> None:
    found = first(ENGINE, tmp_path)
    assert (found.code, found.data["exception"]) == ("ERR000", "NotImplementedError")
    with pytest.raises(SourceError):
        first(ENGINE.replace("vllm", "other"), tmp_path)


def test_the_place_is_not_in_a_traceback_that_has_no_end(tmp_path: Path) -> None:
    more = """
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/ana/proj/serve.py", line 7, in start
    run(model)
"""
    found = first(ENGINE + more, tmp_path)
    assert found.where is not None
    assert found.where.file.endswith("custom_op.py")
    ended = first(f"{ENGINE}{more}RuntimeError: no torch.compile here\n", tmp_path)
    assert ended.where is not None
    assert ended.where.file.endswith("serve.py")


WRITTEN = f"""Hi, I am facing the error below.

**Exception has occurred: RuntimeError (note: full exception trace is shown)
mat1 dim 1 must match mat2 dim 0**

  File "{SITE}/torch/nn/functional.py", line 1753, in linear
    return torch._C._nn.linear(input, weight, bias)
  File "{SITE}/torch/nn/modules/linear.py", line 94, in forward
    return F.linear(input, self.weight, self.bias)
  File "{SITE}/torch/nn/modules/module.py", line 889, in _call_impl
    result = self.forward(*input, **kwargs)
"""


def test_a_traceback_whose_error_stands_in_other_words_is_not_cut(tmp_path: Path) -> None:
    assert first(WRITTEN, tmp_path).title.startswith("a matrix product")
    other = WRITTEN.replace("mat1 dim 1 must match mat2 dim 0", "see the picture")
    assert "cut before its error" in first(other, tmp_path).title


def test_a_traceback_of_a_source_tree_without_its_folder_is_known(tmp_path: Path) -> None:
    text = WRITTEN.replace(f"{SITE}/", "").replace("mat1 dim 1 must match mat2 dim 0", "a picture")
    assert "cut before its error" in first(text, tmp_path).title


def test_weights_of_other_sizes_are_left_out_by_size(tmp_path: Path) -> None:
    more = "{}\tsize mismatch for weight: copying a param with shape torch.Size([9, 9]) from"
    missing = '\tMissing key(s) in state_dict: "bias".\n'
    for said in ("", missing):
        text = EAGER.format(f"{LOADING}\n{more.format(said)} checkpoint")
        assert first(text, tmp_path).title.startswith("weights have other sizes")
    text = EAGER.format(f"{LOADING}\n{missing}")
    assert first(text, tmp_path).title.startswith("the weights are not those")


def test_registers_that_are_too_few_are_not_an_old_ptxas(tmp_path: Path) -> None:
    head = "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n"
    text = head + "`ptxas` stderr:\nptxas fatal   : {}\nptxas fatal   : Ptx assembly aborted\n"
    few = "(C7600) Register allocation failed with register count of '128'."
    found = first(text.format(few), tmp_path)
    assert (found.code, "registers" in found.title) == ("ERR013", True)
    assert first(text.format("Unsupported .version 8.7;"), tmp_path).code == "ERR010"


def test_an_error_is_told_where_the_code_below_it_was_not_copied(tmp_path: Path) -> None:
    found = first("KeyError: packed_non_tensor_outputs\n\nfrom user code:\n", tmp_path)
    assert (found.code, found.data["exception"]) == ("ERR018", "KeyError")


def test_the_line_that_was_traced_stands_below_a_failed_lowering(tmp_path: Path) -> None:
    frame = '  File "{}", line {}, in {}\n    x\n'
    head = "Traceback (most recent call last):\n"
    head += frame.format("/home/ana/proj/train.py", 61, "main")
    head += frame.format(f"{SITE}/torch/_inductor/graph.py", 1495, "call_function")
    error = "torch._inductor.exc.InductorError: LoweringException: AssertionError: no expression\n"
    below = 'Found from :\n   File "/home/ana/proj/net.py", line 12, in forward\n    y = x.sin()\n'
    found = first(head + error + below, tmp_path)
    assert found.where is not None
    assert (found.where.file, found.where.line) == ("/home/ana/proj/net.py", 12)


START = """ERROR 06-13 11:37:08 [core.py:515] EngineCore failed to start.
ERROR 06-13 11:37:08 [core.py:515] Traceback (most recent call last):
ERROR 06-13 11:37:08 [core.py:515]   File "/app/vllm/v1/engine/core.py", line 83, in __init__
ERROR 06-13 11:37:08 [core.py:515]     self._initialize_kv_caches(vllm_config)
ERROR 06-13 11:37:08 [core.py:515] ValueError: {}
"""


def test_why_an_engine_did_not_start_is_answered_by_the_table(tmp_path: Path) -> None:
    known = first(START.format("No available memory for the cache blocks. Try it"), tmp_path)
    assert known.title.startswith("the model leaves no memory for the engine's cache")
    assert [one.id for one in known.advice] == ["known-message"]
    other = first(START.format("the layers of this model are odd"), tmp_path)
    assert other.title.startswith("the engine did not start")
    assert "engine-eager" in [one.id for one in other.advice]


@pytest.mark.parametrize(("code", "told"), [(-9, "was killed by the system"), (1, "failed")])
def test_the_line_of_a_launcher_alone_says_what_its_code_means(
    code: int, told: str, tmp_path: Path
) -> None:
    logger = "ERROR:torch.distributed.elastic.multiprocessing.api"
    line = f"{logger}:failed (exitcode: {code}) local_rank: 0 (pid: 71) of binary: /usr/bin/python"
    found = first(line, tmp_path)
    assert found.code == "ERR000"
    assert told in found.title


def test_what_tritons_passes_refuse_in_a_generated_file_is_a_failure(tmp_path: Path) -> None:
    hashed = "cttmyl2lv36rbbkefb5sp35rxqrshbhalcvq7emapkzdm53zblgs"
    text = (
        "W0406 15:29:57.814000 7440 torch/_inductor/utils.py:1731] [0/0] Not enough SMs to use "
        "max_autotune_gemm mode\n"
        f"/srv/torchinductor_ana/tt/{hashed}.py:56:26: error: operand #0 does not dominate this\n"
        "    tmp18 = libdevice.cos(tmp13)\n                         ^\n"
        "module {\n  tt.func public @triton_per_fused_cos_52(%arg0: !tt.ptr<f32>) {\n"
    )
    found = first(text, tmp_path)
    assert found.code == "ERR017"
    assert found.title.startswith("the compiler failed on a graph (a bug of Triton)")
    assert first(text.replace("error: op", "note: op"), tmp_path).code != "ERR017"


LAYOUT = (
    Path(__file__).parents[2] / "fixtures/rules/ERR000-unexplained-error/fires-backward-layout.log"
)
VIEW = "view size is not compatible with input tensor's size and stride"


def test_no_line_is_changed_for_an_operator_of_a_backward_graph(tmp_path: Path) -> None:
    """Torch derived it: tracing would have raised what the program's own operator does."""
    text = LAYOUT.read_text(encoding="utf-8")
    derived = first(text, tmp_path)
    assert [one.id for one in derived.advice] == ["eager", "bisect", "search"]
    assert "no line of the program calls it" in derived.message
    own = first(EAGER.format(VIEW), tmp_path)
    assert own.title.startswith("`view` of a tensor whose layout does not allow it")


SECOND = "Trying to backward through the graph a second time"


def test_results_of_one_compiled_graph_share_their_backward_pass(tmp_path: Path) -> None:
    """Eager keeps losses apart that have no operation in common; a compiled graph does not."""
    text = LAYOUT.read_text(encoding="utf-8").replace(VIEW, SECOND)
    compiled = first(text, tmp_path).advice[0]
    assert compiled.id == "one-backward"
    assert compiled.text.startswith("All results of one compiled graph share one backward pass")
    eager = first(EAGER.format(SECOND), tmp_path).advice[0]
    assert eager.id == "known-message"
    assert eager.text.startswith("A tensor of an earlier step is still in the graph")


def test_losses_within_a_package_are_left_out_of_what_is_compiled() -> None:
    [found] = analyze(str(LAYOUT.with_name("fires-backward-of-a-package.log"))).told
    assert "compile the model alone" in found.advice[0].text
    assert found.advice[0].code is None
    [found] = analyze(str(LAYOUT.with_name("fires-one-compiled-backward.log"))).told
    assert "add them" in found.advice[0].text
    assert "retain_graph=True" in (found.advice[0].code or "")
