"""What kind of work a line of Python or an operator on the host is: what can be done about it."""

from __future__ import annotations

import re
from enum import StrEnum

from tracelens.late import late
from tracelens.traces.host_kinds import REMOTE, host_kind

__all__ = ["Work", "work_of"]


class Work(StrEnum):
    """Why the host is not launching; each has advice of its own."""

    #: Batches are made: read, decoded, tokenized, resized.
    PREPARES = "prepares"
    #: Environments are stepped, as in reinforcement learning.
    ENVIRONMENT = "environment"
    #: Requests are waited for.
    REQUESTS = "requests"
    #: Another process computes, and its answer is waited for.
    REMOTE = "remote"
    #: Random numbers are drawn on the host.
    RANDOM = "random"
    #: Buffers of a DistributedDataParallel model are sent to all ranks before each forward.
    BUFFERS = "buffers"
    #: Something is logged, shown, or saved.
    REPORTS = "reports"
    #: A second model is kept that follows the weights: an average, or a target.
    AVERAGES = "averages"
    #: The optimizer computes on the host.
    UPDATES = "updates"
    #: Workers of a DataLoader are started, or stopped.
    STARTS = "starts"
    #: A library launches, or works for its launches.
    LIBRARY = "library"
    #: A line of the program, whose purpose is not known.
    OWN = "own"
    #: The same, while a module of torch is called: the model's own Python.
    MODEL = "model"
    #: Operators compute on the host, in a line of the program, what a device could.
    COMPUTES = "computes"
    #: Memory is taken of the driver, and given back.
    MEMORY = "memory"
    #: An operator, and no line.
    OPERATOR = "operator"


_PREPARES = late(
    r"(?:^|[/._])(?:datasets?|dataloaders?|data(?!_parallel)|pil|cv2|librosa|soundfile|scipy|pandas|torchvision"
    r"/transforms|transforms|imageio|torchaudio|h5py|pyarrow)(?:/|\.py\(|_)"
    r"|collate|pre_?process|image_process|feature_extract|tokeniz|augment|decode_image|read_image"
    r"|load_image|read_video|__getitem__|random_(?:affine|resized_crop|crop|flip|rotat|erasing|jitter)"
    r"|color_jitter|(?:load|read|prepare|make|get|next|fetch)_?(?:the_)?batch(?!_(?:norm|size))",
    re.IGNORECASE,
)
# `torch/utils/checkpoint.py` and the like compute again what was not kept, and save nothing.
_REPORTS = late(
    r"(?:^|/)(?:wandb|tqdm|tensorboard\w*|mlflow|logging|loguru|matplotlib|safetensors)(?:/|\.py\()"
    r"|torch/serialization\.py|torch/distributed/checkpoint/|/model_checkpoint\.py"
    r"|training/checkpointing\.py"
    r"|: _?(?:log|save|print|report)(?:_(?:metrics?|scalars?|images?|stats|loss(?:es)?|progress"
    r"|results?|checkpoints?|model|state|pretrained|histograms?|gradients?|grads?|grad_norms?"
    r"|weights|activations|samples|summar(?:y|ies)))?$"
    r"|: _?snapshot(?:_(?:checkpoint|model|state|weights))?$",
)
_ENVIRONMENTS = late(
    r"(?:^|/)(?:gym|gymnasium|pettingzoo|dm_control|mujoco|vec_env|envs?|environments?)(?:/|\.py\()"
    r"|_env\.py\(|: (?:step_envs?|envs?_step)$"
)
_REQUESTS = late(
    r": _?(?:next|get|wait_for|poll|await|receive|recv|fetch|accept)_(?:next_)?"
    r"(?:requests?|jobs?|messages?)$"
)
_RANDOM = late(
    r"aten::(?:randn?|randint|randperm|rand_like|randn_like|randint_like"
    r"|normal_?|uniform_|random_|bernoulli_?|exponential_|multinomial)$"
)
_LIBRARIES = late(
    r"^(?:torch|triton|transformers|diffusers|vllm|sglang|flashinfer|flash_attn|xformers|deepspeed"
    r"|megatron|accelerate|lightning|pytorch_lightning|torchvision|torchaudio|timm|peft"
    r"|bitsandbytes|apex|fairscale|torchrec|fbgemm_gpu|transformer_engine|aiter|torchao"
    r"|torch_geometric|ultralytics|tensorrt_llm)/"
)
_STARTS = late(
    r"(?:^|/)torch/utils/data/dataloader\.py\(\d+\): (?:__init__|_get_iterator|_shutdown_workers)$"
)
_UPDATES = late(r"(?:^|/)cpu_(?:adam|adagrad|lion)\.py\(|: _?cpu_adam\w*$")
_UPDATING = late(r"aten::_fused_(?:adamw?|adagrad|sgd)_$")
#: What a GPU is given in microseconds: an operator that takes long there computes on the CPU.
_COMPUTING = late(
    r"aten::(?:arange|linspace|ones|zeros|full|eye|fill_?|zero_?|triu_?|tril_?|masked_fill_?|where"
    r"|cat|stack|repeat|repeat_interleave|tile|roll|flip|sort|argsort|topk|cumsum|one_hot|scatter_?"
    r"|scatter_add_?|gather|index|index_select|index_add_?|eq_?|ne_?|lt_?|le_?|gt_?|ge_?|add_?|sub_?"
    r"|rsub|mul_?|div_?|pow_?|exp_?|log_?|sqrt_?|sin_?|cos_?|abs_?|clamp_?|neg_?|sum|mean|std|var|max"
    r"|min|softmax|_softmax|bitwise_\w{1,5}|logical_\w{1,5}|mm|bmm|addmm|cdist|_cdist_forward)$"
)
_OPERATORS = (
    (re.compile("flatten_dense_tensors"), Work.BUFFERS),
    (_RANDOM, Work.RANDOM),
    (_UPDATING, Work.UPDATES),
)
#: The first that fits.
_LINES = (
    (_STARTS, Work.STARTS),
    (_UPDATES, Work.UPDATES),
    (_REPORTS, Work.REPORTS),
    (_PREPARES, Work.PREPARES),
    (_ENVIRONMENTS, Work.ENVIRONMENT),
    (_REQUESTS, Work.REQUESTS),
    (_LIBRARIES, Work.LIBRARY),
)
_ABSOLUTE = late(r"/|[A-Za-z]:/")


def work_of(frame: str, operator: str) -> Work:
    """Return what the host does in a frame ``file(line): function``, or else in an operator."""
    if host_kind(operator) == REMOTE or (not operator and host_kind(frame) == REMOTE):
        return Work.REMOTE
    for pattern, work in _OPERATORS:
        if pattern.search(operator):
            return work
    if not frame:
        return Work.OPERATOR
    line = _short(frame.replace("\\", "/"))
    known = next((work for pattern, work in _LINES if pattern.search(line)), Work.OWN)
    return Work.COMPUTES if known == Work.OWN and _COMPUTING.match(operator) else known


def _short(frame: str) -> str:
    """Return a frame from its package on; where the program lies says nothing about its work."""
    _, installed, file = frame.rpartition("-packages/")
    if installed or not _ABSOLUTE.match(frame):
        return file
    return "/".join(frame.split("/")[-2:])
