"""The page's own files inside one HTML file that opens from disk: style sheets, scripts, modules. No JAX here.

A browser loads no module from a `file:` address, so every module becomes a `data:` URL; an import map leads to it from a name
that takes the place of the relative path. A policy in the head names each script by its content and forbids all else.
"""

from __future__ import annotations

import json
import posixpath
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from string import Template

STATIC = Path(__file__).with_name("static")
TEMPLATE, PAGE = "report.html", "page.html"
BEGIN = "app.js"
_STATIC_IMPORT = re.compile(r'\b(?:from|import) "(\.{1,2}/[^"]+)"')
_IMPORT = re.compile(r'\b(from |import |import\()"(\.{1,2}/[^"]+)"')
"""As our formatter writes them; `import(` loads on demand."""
_STYLE = re.compile(r'rel="stylesheet" href="/static/([^"]+)"')


def fill_page(values: Mapping[str, str], page: str) -> str:
    """The whole file; `values` are what the template has beside its own parts, as markup already."""
    parts = {
        "style": read_styles(),
        "theme": read("theme.js"),
        "modules": json.dumps({"imports": map_imports(collect([BEGIN, page]))}, indent=0),
        "start": f'import "{bare(BEGIN)}";',
        "icon": data_url("image/svg+xml", (STATIC / "icon.svg").read_bytes()),
    }
    return Template(read(TEMPLATE)).substitute(parts, policy=write_policy(parts), **values)


def read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def read_styles() -> str:
    """All style sheets of the live page, in its order, and the report's own."""
    return "\n".join(map(read, [*_STYLE.findall(read(PAGE)), "css/report.css"]))


def write_policy(parts: Mapping[str, str]) -> str:
    """What may run and be shown: these very scripts, this style, modules and pictures that are in the file. No network."""
    scripts = " ".join(_digest(parts[name]) for name in ("theme", "modules", "start"))
    return (
        f"default-src 'none'; script-src {scripts} data:; style-src {_digest(parts['style'])}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# --- modules -------------------------------------------------------------------------------------------------------


def collect(names: Iterable[str]) -> dict[str, str]:
    """Sources of modules and of all that they import, by their paths; what is imported later, on demand, is named by the caller."""
    sources, waiting = {}, [*names]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name] = read(name)
            waiting += [resolve(name, path) for path in _STATIC_IMPORT.findall(sources[name])]
    return sources


def resolve(importer: str, relative: str) -> str:
    """`../dom.js` seen from `run/head.js` -> `dom.js`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), relative))


def bare(name: str) -> str:
    return f"courtside/{name}"


def map_imports(sources: Mapping[str, str]) -> dict[str, str]:
    """Name -> address of each module, for an import map."""
    return {bare(name): data_url("text/javascript", rewrite(name, text).encode()) for name, text in sources.items()}


def rewrite(name: str, source: str) -> str:
    """The same module with names in the place of paths."""
    return _IMPORT.sub(lambda match: f'{match[1]}"{bare(resolve(name, match[2]))}"', source)


def data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"
