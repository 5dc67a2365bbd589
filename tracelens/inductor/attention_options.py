"""How a library that writes attention out is told to let torch compute it."""

from __future__ import annotations

from tracelens.dynamo import user_code

__all__ = ["OPTIONS", "in_library", "option"]

#: What the user of a package sets, by the package's name in ``site-packages``.
OPTIONS = {
    "denoising_diffusion_pytorch": "flash_attn=True of `Unet`",
    "timm": "timm.layers.set_fused_attn(True), called before the model is made",
    "transformers": "attn_implementation='sdpa' of `from_pretrained` and `from_config`",
    "x_transformers": "attn_flash=True of `Encoder` and `Decoder`",
}


def option(package: str) -> str:
    """Return how the package is told to use torch's attention; empty where we do not know."""
    return OPTIONS.get(package, "")


def in_library(package: str, file: str, line: int) -> str:
    """Begin a sentence about attention with what the user of a package can do; it ends in "let".

    The author of the line, and who knows no line, begins with what to write.
    """
    if not file:
        return (
            "The log does not name the line, which may be a library's: look for an option of its "
            "first (flash, sdpa, fused). In code of your own, let"
        )
    if not package:
        return "Let"
    return (
        f"The line is in `{package}`: where its constructor has an option for it (flash, sdpa, "
        f"fused), set that. Otherwise exchange the `forward` around "
        f"{user_code.short(file, line)} from outside, and let"
    )
