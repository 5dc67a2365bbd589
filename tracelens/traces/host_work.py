"""What kind of work a line of Python or an operator on the host is: what can be done about it."""

from __future__ import annotations

import re
from enum import StrEnum

__all__ = ["Work", "work_of"]


class Work(StrEnum):
    """Why the host is not launching; each has advice of its own."""

    #: Batches are made: read, decoded, tokenized, resized.
    PREPARES = "prepares"
    #: Random numbers are drawn on the host.
    RANDOM = "random"
    #: Buffers of a DistributedDataParallel model are sent to all ranks before each forward.
    BUFFERS = "buffers"
    #: A library launches, or works for its launches.
    LIBRARY = "library"
    #: A line of the program, whose purpose is not known.
    OWN = "own"
    #: An operator, and no line.
    OPERATOR = "operator"


_PREPARES = re.compile(
    r"(?:^|[/._])(?:datasets?|dataloaders?|data|pil|cv2|librosa|soundfile|scipy|pandas|torchvision"
    r"/transforms|transforms|imageio|torchaudio|h5py|pyarrow)(?:/|\.py\(|_)"
    r"|collate|pre_?process|image_process|feature_extract|tokeniz|augment|decode_image|read_image"
    r"|load_image|read_video|__getitem__|(?:load|read|prepare|make|get|next|fetch)_?(?:the_)?batch",
    re.IGNORECASE,
)
_RANDOM = re.compile(
    r"aten::(?:randn?|randint|randperm|rand_like|randn_like|randint_like"
    r"|normal_?|uniform_|random_|bernoulli_?|exponential_|multinomial)$"
)
_LIBRARIES = re.compile(
    r"^(?:torch|triton|transformers|diffusers|vllm|sglang|flashinfer|flash_attn|xformers|deepspeed"
    r"|megatron|accelerate|lightning|pytorch_lightning|torchvision|torchaudio|timm|peft|tqdm|numpy"
    r"|bitsandbytes|apex|fairscale|torchrec|fbgemm_gpu|transformer_engine|aiter|torchao"
    r"|torch_geometric|ultralytics|tensorrt_llm)/"
)


def work_of(frame: str, operator: str) -> Work:
    """Return what the host does in a frame ``file(line): function``, or else in an operator."""
    if "flatten_dense_tensors" in operator:
        return Work.BUFFERS
    if _RANDOM.search(operator):
        return Work.RANDOM
    if not frame:
        return Work.OPERATOR
    path = frame.replace("\\", "/")
    file = path.rpartition("-packages/")[2]
    if _PREPARES.search(file):
        return Work.PREPARES
    return Work.LIBRARY if "-packages/" in path or _LIBRARIES.match(file) else Work.OWN
