"""MkDocs hooks: the pages of the API reference, from the ``__all__`` of each public package, and pages included from the root.

A public name without a docstring fails the build. A name that two packages export is documented on the first page.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGES = {
    "tracker": ("driftpace.tracker",),
    "models": ("driftpace.models",),
    "losses": ("driftpace.losses",),
    "records": ("driftpace.records", "driftpace.errors"),
    "fleet": ("driftpace.fleet", "driftpace.executors"),
    "backtest": ("driftpace.backtest", "driftpace.datasets"),
    "planning": ("driftpace.planning",),
    "selection": ("driftpace.selection",),
    "campaign": ("driftpace.campaign", "driftpace.campaign.fleet"),
    "storage": ("driftpace.storage",),
    "tables": ("driftpace.tables",),
    "labelling": ("driftpace.labelling",),
    "constraints": ("driftpace.constraints",),
    "bounds": ("driftpace.bounds",),
    "learners": ("driftpace.learners",),
    "drift": ("driftpace.drift",),
    "constants": ("driftpace.constants",),
    "rules": ("driftpace.rules",),
    "adaptive": ("driftpace.adaptive",),
    "wide": ("driftpace.wide",),
    "sklearn": ("driftpace.sklearn",),
    "mlflow": ("driftpace.mlflow",),
    "airflow": ("driftpace.airflow",),
    "synthetic": ("driftpace.synthetic",),
    "testing": ("driftpace.testing",),
}
"""The packages on each page of the reference."""

_ROLE = re.compile(r":(?:class|func|meth|attr|mod|data|exc|obj):<code>(?:~(?:\w+\.)*)?([^<]*)</code>")
"""A role of Sphinx in a docstring, as Markdown renders it; of names after a tilde only the last part is shown."""

INCLUDED = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages that are files of the repository's root."""


def public_names(package: str) -> list[str]:
    """Return the public names of a package: ``__all__``, or every class defined in a plain module."""
    module = import_module(package)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, item in vars(module).items() if inspect.isclass(item) and item.__module__ == package]
    return list(names)


def home(package: str, name: str) -> str:
    """Return the dotted path at which a public name is defined."""
    item: Any = getattr(import_module(package), name)
    if inspect.ismodule(item):
        return item.__name__
    return f"{getattr(item, '__module__', package)}.{getattr(item, '__qualname__', name)}"


def page(packages: tuple[str, ...], documented: set[str]) -> str:
    """Return the Markdown of one page of the reference; ``documented`` holds the names of the pages before, and is extended."""
    lines = []
    for package in packages:
        module = import_module(package)
        lines += [f"# {package}", "", (module.__doc__ or "").strip().split("\n\n")[0], ""]
        for name in public_names(package):
            item = getattr(module, name)
            if inspect.isclass(item) or inspect.isfunction(item):
                if not item.__doc__:
                    raise PluginError(f"{package}.{name} is public and has no docstring.")
                target = home(package, name)
                lines += (
                    [f"### {name}", "", f"See [`{target}`][{target}].", ""]
                    if target in documented
                    else [f"::: {target}", ""]
                )
                documented.add(target)
            elif not inspect.ismodule(item):
                lines += [f"### {name}", "", f"`{name} = {item!r}`" if len(repr(item)) < 200 else "", ""]
    return "\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    documented: set[str] = set()
    for name, packages in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=page(packages, documented)))
    rows = [
        f"| [`{package}`]({name}.md) | {(import_module(package).__doc__ or '').strip().splitlines()[0]} |"
        for name, packages in PAGES.items()
        for package in packages
    ]
    index = (
        "# API reference\n\nImport the most used names from `driftpace` itself.\n\n| package | content |\n|---|---|\n"
    )
    files.append(File.generated(config, "reference/index.md", content=index + "\n".join(rows) + "\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return a page; links of included files start at the root of the repository, those of the site at ``docs``."""
    if (name := INCLUDED.get(page.file.src_uri)) is None:
        return markdown
    return (Path(config.config_file_path).parent / name).read_text().replace("](docs/", "](")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return a page in which the roles of docstrings are code."""
    return _ROLE.sub(r"<code>\1</code>", html)
