"""A hook of MkDocs: names in code lead to the reference, on all pages, and code has its colours.

`Kernel::run`, `bl::compile` and `bl_run` in a sentence, `bl::Kernel` and `bl.bench` in an example,
and types in a declaration of the reference become links, by FOLDER/names.json. A link to a place
that is not there stops the build.
"""

import html
import json
import pathlib
import posixpath
import re

from pygments.formatters import HtmlFormatter

NAMES, USED = {}, set()
CODE = re.compile(r"(<(?:pre|a|h\d)\b.*?</(?:pre|a|h\d)>)|<code>([^<]*)</code>", re.S)
BLOCK = re.compile(r'<div class="codehilite">.*?</div>', re.S)
# `bl::Kernel` and `bl.bench` as Pygments writes them, and a word alone.
QUALIFIED = re.compile(r'(<span class="n">bl</span><span class="(?:o|p)">(::|\.)</span>)<span class="([a-z]+)">(\w+)</span>')
WORD = re.compile(r'<span class="n[cfn]?">([A-Z]\w+)</span>')
C_WORD = re.compile(r'<span class="(n[cf]?|kt)">((?:bl|BL)_\w+)</span>')
HEADER = re.compile(r"(?:include/)?broadloom/(?:interop/)?(\w+)\.hpp$")


def on_config(config):
    folder = pathlib.Path(config["config_file_path"]).parent
    NAMES.update(json.loads((folder / "names.json").read_text(encoding="utf-8")))
    return config


def place_of(word, page):
    """The place of what a sentence names, or None."""
    said = html.unescape(word)
    name = re.sub(r"\(.*\)$", "", said)
    if match := HEADER.match(said):
        return f"api/cpp/{match[1]}.html" if match[1] != "broadloom" else "api/cpp/index.html"
    if said in ("include/broadloom", "include/broadloom/"):
        return "api/cpp/index.html"
    if said == "broadloom.h":
        return "api/c.html"
    if name.startswith(("bl_", "BL_")):
        return NAMES["c"].get(name)
    if match := re.match(r"(?:bl|broadloom)::([\w:]+)$", name):
        return NAMES["cpp"].get(match[1])
    if match := re.match(r"bl\.([\w.]+)$", name):
        return NAMES["py"].get(match[1])
    if match := re.match(r"k\.(\w+)$", name):
        return NAMES["py"].get(f"Kernel.{match[1]}") if page.startswith("python") else None
    if "::" in name or page.startswith("api/cpp/"):
        return NAMES["cpp"].get(name)
    return NAMES["py"].get(name) if page.startswith("api/python/") else None


def on_page_content(content, page, config, files):
    url = page.file.url

    def link(text, place):
        if place is None:
            return text
        path, _, anchor = place.partition("#")
        USED.add((url, place))
        target = posixpath.relpath(path, posixpath.dirname(url) or ".") + (f"#{anchor}" if anchor else "")
        return f'<a class="code" href="{html.escape(target)}">{text}</a>'

    def in_sentence(match):
        if match[1]:
            return match[1]
        is_long = len(html.unescape(match[2])) > 72  # site.py: it may be broken
        return link(match[0].replace("<code>", '<code class="long">') if is_long else match[0], place_of(match[2], url))

    def in_block(match):
        def qualified(match):
            names = NAMES["cpp" if match[2] == "::" else "py"]
            return match[1] + link(f'<span class="{match[3]}">{match[4]}</span>', names.get(match[4]))
        block = QUALIFIED.sub(qualified, match[0])
        block = C_WORD.sub(lambda match: link(match[0], NAMES["c"].get(match[2])), block)
        language = "cpp" if url.startswith("api/cpp/") else "py" if url.startswith("api/python/") else None
        if language:
            parts = re.split(r"(<a .*?</a>)", block)
            block = "".join(part if i % 2 else WORD.sub(lambda match: link(match[0], NAMES[language].get(match[1])), part)
                            for i, part in enumerate(parts))
        return block

    return CODE.sub(in_sentence, BLOCK.sub(in_block, content))


def on_post_build(config):
    pages = {}
    for url, place in sorted(USED):
        path, _, anchor = place.partition("#")
        if path not in pages:
            file = pathlib.Path(config["site_dir"]) / path
            pages[path] = file.read_text(encoding="utf-8") if file.exists() else None
        if pages[path] is None or anchor and f'id="{html.escape(anchor)}"' not in pages[path]:
            raise SystemExit(f"tests/docs/links.py: {url} links to {place}, which is not there")
    with (pathlib.Path(config["site_dir"]) / "site.css").open("a", encoding="utf-8") as style:
        style.write(HtmlFormatter(style="default").get_style_defs(".codehilite") + "\n")
    print(f"{len(USED)} links from code to the reference")
