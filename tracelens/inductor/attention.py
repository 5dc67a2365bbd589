"""Attention in generated code: one fused kernel, or products with a softmax between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.inductor.contraction import contracted, head_sizes, is_same, normalized
from tracelens.late import late
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs._kernels import KernelDef
from tracelens.logs._statements import ExternCall, KernelCall
from tracelens.logs.output_code import OutputModule, Step

__all__ = ["Unfused", "fused_calls", "is_nothing_else", "unfused_attention"]

#: Kernels that may lie between the scores and the product with the values.
MAX_HOPS = 3
_PRODUCTS = {"bmm", "baddbmm"}
_ANY_PRODUCT = {*_PRODUCTS, "mm", "addmm", "_linear_pointwise", "_mkl_linear"}
#: What normalizes the weights once more, as slots that compete for inputs do: no fused kernel does
#: that. A softmax's own sum has no name.
_AGAIN = late(r"linalg_vector_norm|(?:^|_)sum(?:_|$)")

#: What a softmax that is written out leaves of itself in a kernel's name.
_BY_HAND = frozenset({"exp", "sum"})


class Unfused(msgspec.Struct, frozen=True):
    """A product, a softmax of its result, and a product of that."""

    seen: Seen[OutputModule]
    first: Step
    scores: Content
    softmax: Step
    kernel: KernelDef
    last: Step
    #: What the softmax's kernel writes.
    written: tuple[Content, ...]
    #: Whether something but the second product needs the weights, in a graph without a backward.
    is_shared: bool
    #: Whether another softmax reads these scores as well, as a bias that goes from layer to layer.
    is_carried: bool = False
    #: Whether the softmax adds such scores of another layer to these.
    adds_carried: bool = False
    #: Whether the log shows that the softmax normalizes what the second product sums over.
    is_certain: bool = False
    #: Whether products of their own make what is added to the scores: it has a gradient, too.
    has_learned_bias: bool = False
    #: What hands the weights on to the second product.
    between: tuple[Step, ...] = ()
    #: Whether a tensor scales the scores, which the ``scale`` of the fused kernels does not take.
    has_tensor_scale: bool = False

    @property
    def is_decomposed(self) -> bool:
        """Whether the program calls ``scaled_dot_product_attention``, which torch took apart.

        ``_safe_softmax`` is in nothing else (torch 2.5 and later).
        """
        return "safe_softmax" in self.kernel.fused

    @property
    def is_by_hand(self) -> bool:
        """Whether the program may write the softmax out; only its traced graph tells."""
        return "softmax" not in self.kernel.fused

    @property
    def dimensions(self) -> int | None:
        """How many dimensions the scores have in the program; None where nothing shows it.

        ``bmm`` folds them to three; the softmax keeps them, in its results of one value per row
        or, where a kernel keeps these to itself, in the weights.
        """
        sizes = [result.view for result in self.written if result.view]
        rows = {len(size) for size in sizes if size[-1] == 1}
        weights = {len(size) for size in sizes if size[-1] == self._keys}
        found = rows or weights
        return found.pop() if len(found) == 1 else None

    @property
    def _keys(self) -> object:
        return self.scores.size[-1] if self.scores.size else None

    @property
    def is_capped(self) -> bool:
        """Whether the scores go through a ``tanh`` first: only flex_attention can do that."""
        return "tanh" in self.kernel.fused

    @property
    def has_dropout(self) -> bool:
        """Whether random weights are dropped between softmax and product."""
        return any(word in self.kernel.fused for word in ("dropout", "bernoulli", "rand"))


def fused_calls(module: OutputModule) -> Iterator[tuple[Step, str]]:
    """Yield the calls of fused attention kernels, with what is called."""
    for step, extern in module.extern_calls():
        if "attention" in extern.op:
            yield step, extern.target
    for step, call in module.kernel_calls():
        kernel = module.kernels.get(call.kernel)
        if kernel is not None and kernel.is_template and "flex_attention" in kernel.kernel:
            yield step, kernel.kernel


def unfused_attention(seen: Seen[OutputModule]) -> Iterator[Unfused]:
    """Yield the attentions of one module that are taken apart, one per softmax."""
    module = seen.record
    flow = module.flow
    done: set[int] = set()
    for step in module.body:
        if not _is_product(module, step):
            continue
        for scores in flow.results(step):
            for reader in scores.readers:
                kernel = _softmax(module, reader)
                if kernel is None or id(reader) in done or not _is_own(module, scores, reader):
                    continue
                written = flow.results(reader)
                weights = [one for one in written if _may_be_weights(one, scores)]
                last, read, between = _product_after(module, flow, weights, MAX_HOPS)
                if last is None or read is None or _is_routing(module, flow, scores):
                    continue
                axes = normalized(kernel, written, scores.count)
                summed = contracted(last, read, flow.operands(last))
                certain = summed is not None and bool(axes)
                if summed and certain and not any(is_same(axis, summed) for axis in axes):
                    continue
                if not certain and _reads_another(flow, reader, scores):
                    continue
                one = Unfused(
                    seen,
                    step,
                    scores,
                    reader,
                    kernel,
                    last,
                    written,
                    is_shared=_is_shared(module, scores, written),
                    is_carried=_is_carried(module, scores),
                    adds_carried=any(
                        one is not scores and _is_carried(module, one)
                        for one in _alike(module, reader, scores)
                    ),
                    is_certain=certain,
                    has_learned_bias="add" in kernel.fused
                    and _is_bias_computed(module, reader, step),
                    between=between,
                )
                heads = head_sizes(step, last, read, flow)
                if kernel.device == "cpu" and len(heads) > 1 and not one.is_decomposed:
                    continue  # scaled_dot_product_attention would be taken apart, too
                done.add(id(reader))
                yield one


def is_nothing_else(found: Unfused) -> bool:
    """Whether the code shows nothing that fused attention does not compute.

    That is what the k best scores of a row are needed for, or gates on the weights. The program's
    graph tells more, see :func:`tracelens.inductor.attention_chain.chain`.
    """
    module = found.seen.record
    others = [one for one in found.scores.readers if not _softmax(module, one)]
    if any(_feeds(module.flow, one, found.softmax, MAX_HOPS) for one in others):
        return False
    return all(_only_passes(module, one) for one in found.between)


def _feeds(flow: Dataflow, step: Step, softmax: Step, hops: int) -> bool:
    """Whether a softmax reads what a step writes, perhaps through other steps."""
    readers = [reader for result in flow.results(step) for reader in result.readers]
    return softmax in readers or (
        hops > 0 and any(_feeds(flow, one, softmax, hops - 1) for one in readers)
    )


def _only_passes(module: OutputModule, step: Step) -> bool:
    """Whether a step hands weights on as they are, or drops some at random."""
    kernel = module.kernels.get(step.code.kernel) if isinstance(step.code, KernelCall) else None
    words = ("softmax", "dropout", "bernoulli", "rand")
    return kernel is not None and (kernel.is_copy or any(word in kernel.fused for word in words))


def _may_be_weights(result: Content, scores: Content) -> bool:
    """Whether there is one for each score: a kernel may write other results beside them."""
    return scores.count is None or result.count in {None, scores.count}


def _is_product(module: OutputModule, step: Step) -> bool:
    code = step.code
    if isinstance(code, ExternCall):
        return code.op in _PRODUCTS
    if not isinstance(code, KernelCall):
        return False
    kernel = module.kernels.get(code.kernel)
    return kernel is not None and kernel.is_template and "bmm" in kernel.kernel


def _mixes(module: OutputModule, step: Step) -> bool:
    """Whether a product or a convolution makes others of the weights, as talking heads do.

    No fused attention computes that.
    """
    code = step.code
    if isinstance(code, ExternCall):
        return code.op in _ANY_PRODUCT or "convolution" in code.op
    kernel = module.kernels.get(code.kernel) if isinstance(code, KernelCall) else None
    return kernel is not None and kernel.is_template


def _softmax(module: OutputModule, step: Step) -> KernelDef | None:
    kernel = module.kernels.get(step.code.kernel) if isinstance(step.code, KernelCall) else None
    if kernel is None or kernel.is_template:
        return None
    if "softmax" not in kernel.fused:
        return kernel if set(kernel.fused.split("_")) >= _BY_HAND else None
    other = ("log_softmax", "softmax_backward")
    if any(word in kernel.fused for word in other) or _AGAIN.search(kernel.fused):
        return None
    return kernel


def _is_shared(module: OutputModule, scores: Content, results: Sequence[Content]) -> bool:
    """Whether the weights are results of the graph, or read more than once."""
    weights = [result for result in results if result.count == scores.count]
    needed = any(result.returned or len(result.readers) > 1 for result in weights)
    return needed and module.graph != "forward"


def _normalizing(module: OutputModule, scores: Content) -> list[Step]:
    """Return the softmaxes that read the scores by their name.

    A buffer of another name may reuse their memory.
    """
    named = re.compile(rf"\b{re.escape(scores.name)}\b")
    kernels = (one for one in scores.readers if _softmax(module, one))
    return [one for one in kernels if named.search(one.code.text)]


def _is_own(module: OutputModule, scores: Content, softmax: Step) -> bool:
    """Whether a softmax normalizes these scores, and not those of another layer that it adds.

    Its own are those that no other softmax reads; where others read all, those that it is the first
    to read. One softmax may read two products, as of queries with keys and with positions.
    """
    read = _alike(module, softmax, scores)
    if len(read) < 2:
        return True
    readers = {id(one): _normalizing(module, one) for one in read}
    alone = [one for one in read if len(readers[id(one)]) < 2]
    first = [one for one in read if readers[id(one)][:1] == [softmax]]
    return any(one is scores for one in alone or first or read)


def _alike(module: OutputModule, step: Step, scores: Content) -> list[Content]:
    """Return the results of products that a step reads, of as many elements as the scores."""
    read = _products_of(module, module.flow, step)
    return [one for one in read if one is scores or one.count == scores.count]


def _is_carried(module: OutputModule, scores: Content) -> bool:
    """Whether a second softmax reads the scores, beside others of as many."""
    kernels = _normalizing(module, scores)
    others = (one for kernel in kernels for one in _alike(module, kernel, scores))
    return len(kernels) > 1 and any(one is not scores for one in others)


def _is_bias_computed(module: OutputModule, softmax: Step, first: Step) -> bool:
    """Whether the softmax's kernel reads what other products made of the queries or keys.

    Relative positions are such: the queries times a table, beside the queries times the keys.
    """
    factors = module.flow.operands(first)
    products = [step for step in _before(module, softmax)[0] if step is not first]
    return any(one in factors for step in products for one in _before(module, step)[1])


def _before(module: OutputModule, last: Step) -> tuple[list[Step], list[Content]]:
    """Return the nearest products that a step depends on, and all contents in between."""
    products, between = list[Step](), list[Content]()
    seen, left = {id(last)}, list(module.flow.operands(last))
    while left:
        one = left.pop()
        between.append(one)
        step = one.producer
        if step is None or id(step) in seen:
            continue
        seen.add(id(step))
        if _is_product(module, step):
            products.append(step)
        else:
            left.extend(module.flow.operands(step))
    return products, between


def _is_routing(module: OutputModule, flow: Dataflow, scores: Content) -> bool:
    """Whether the scores are normalized twice, for products of their own.

    A mixture of experts does so along both dimensions: one gives tokens to the experts, the other
    takes their results back. Attention normalizes its scores once.
    """
    kernels = [reader for reader in scores.readers if _softmax(module, reader)]
    # The kernel of another layer may read these, beside scores of its own.
    own = [kernel for kernel in kernels if _products_of(module, flow, kernel) == [scores]]
    written = [result for kernel in own for result in flow.results(kernel)]
    weights = [result for result in written if result.count == scores.count]
    lasts = [_product_after(module, flow, [one], MAX_HOPS)[0] for one in weights]
    return len({id(last) for last in lasts if last is not None}) > 1


def _reads_another(flow: Dataflow, step: Step, scores: Content) -> bool:
    """Whether a kernel reads a product of another size, which may be what it normalizes.

    A mixture of experts that computes them all normalizes its few gates beside the activations.
    """
    made = ((one, one.producer.code) for one in flow.operands(step) if one.producer is not None)
    return any(
        isinstance(code, ExternCall) and code.op in _ANY_PRODUCT and one.count != scores.count
        for one, code in made
    )


def _products_of(module: OutputModule, flow: Dataflow, step: Step) -> list[Content]:
    """Return what a step reads of the results of products."""
    read = flow.operands(step)
    return [one for one in read if one.producer is not None and _is_product(module, one.producer)]


def _product_after(
    module: OutputModule, flow: Dataflow, results: Sequence[Content], hops: int
) -> tuple[Step | None, Content | None, tuple[Step, ...]]:
    """Return the product that reads some contents, which one, and the kernels in between."""
    reads = [(reader, result) for result in results for reader in result.readers]
    for reader, result in reads:
        if _is_product(module, reader):
            return reader, result, ()
    if hops:
        for reader in (one for one, _ in reads if not _mixes(module, one)):
            last, read, between = _product_after(module, flow, flow.results(reader), hops - 1)
            if last is not None:
                return last, read, (reader, *between)
    return None, None, ()
