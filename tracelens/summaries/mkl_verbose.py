"""In what precision MKL's products were computed; what it ran, the log kind says itself."""

from tracelens.summaries.onednn_verbose import precisions as tables

__all__ = ["tables"]
