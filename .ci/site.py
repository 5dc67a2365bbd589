"""What the site of the documentation has beside its pages: mkdocs runs this as a hook.

Pages link to files of the repository, which a site does not have: the reports of the gallery are
put into it, and other links become what they say.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
#: What of the gallery is shown.
SHOWN = {".html", ".png", ".svg"}
#: Fenced text, and links: of these the first part and the target.
PARTS = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]*`|(!?\[[^\]]*\])\(([^)\s]+)\)")


def on_files(files, config):
    """Add the gallery."""
    shown = [path for path in (ROOT / "reports").iterdir() if path.suffix in SHOWN]
    for path in sorted(shown):
        files.append(File.generated(config, f"reports/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):  # noqa: ARG001 -- mkdocs names them
    """Turn links of the repository into such of the site."""
    here = Path(page.file.abs_src_path).parent

    def link(match):
        text, target = match[1], match[2]
        if text is None or "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        name, mark, anchor = target.partition("#")
        path = (here / name).resolve()
        if path.is_dir() and (path / "index.md").is_file():
            return f"{text}({name.rstrip('/')}/index.md{mark}{anchor})"
        if path.is_relative_to(ROOT / "docs"):
            return match[0]  # mkdocs says where it leads nowhere
        if path.is_relative_to(ROOT / "reports") and path.exists():
            up = "../" * len(here.relative_to(ROOT / "docs").parts)
            return f"{text}({up}reports/{path.name})"
        if not path.exists():
            raise SystemExit(f"{page.file.src_uri}: {target} leads nowhere")
        return text.lstrip("!")[1:-1]

    return PARTS.sub(link, markdown)
