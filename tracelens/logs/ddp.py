"""How Dynamo cuts the graph of a DistributedDataParallel model at its gradient buckets."""

from __future__ import annotations

from tracelens.logs import Log, Record

__all__ = ["Ddp", "DdpBuckets"]


class Ddp(Log):
    """Records without artifact of DDPOptimizer, and of DDP itself."""

    name = "ddp"
    switch = 'TORCH_LOGS="ddp"'
    marks = (
        "\nDDPOptimizer ",
        "DDPOptimizer ",
        "Please `pip install tabulate` in order to display ddp ",
        "Some buckets were extended beyond ",
        "Reducer buckets have been rebuilt ",
        "run_node ",
    )
    prefixed = True


class DdpBuckets(Record):
    """One graph, cut in as many parts as there are buckets."""

    #: Bytes of gradients that fill a bucket.
    cap: int
    #: Parts of the graph; 1 where nothing was cut.
    buckets: int
