"""The component that `purlin driver build --dev` makes: an edit needs no new component.

It contains the driver as an ordinary build does, and `SOURCES`, a place for the project's modules.
Purlin writes them there, into the finished component, and each call imports them from there. Such a
call takes a little longer; the several seconds that componentize-py needs are saved.

An edit that imports modules which this component lacks ends `describe` with an exception, and Purlin
builds the component again.
"""

import ast
import importlib.abc
import importlib.util
import json
import os
import sys

import app

#: Purlin finds the place by these bytes, repeated. They are written as digits here, so that Purlin does not
#: find this line.
MARK = bytes.fromhex("a7c3e5915d8fb2494be1d69ef70c3a686e1fb88ad49c57e3f1259d0b47ec8336")
#: A megabyte: `SIZE` in `edit.rs` of the command is the same.
SOURCES = MARK * (1 << 15)

#: The functions of the classes that componentize-py looks for. A driver need not have the second.
FUNCTIONS = {
    "Lifecycle": ["describe", "check", "name", "create", "read", "update_impact", "update", "delete"],
    "Preview": ["preview"],
}


class Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules from their text."""

    def __init__(self, files: dict[str, str]):
        #: By module: its file, and its text.
        self.modules = {module(file): (file, text) for file, text in files.items()}

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules:
            return None
        file = self.modules[name][0]
        return importlib.util.spec_from_loader(name, self, origin=file, is_package=self.is_package(name))

    def is_package(self, name) -> bool:
        return os.path.basename(self.modules[name][0]) == "__init__.py"

    def get_source(self, name) -> str:
        return self.modules[name][1]

    def get_code(self, name):
        file, text = self.modules[name]
        return compile(text, file, "exec", dont_inherit=True)

    def install(self) -> None:
        for name in self.modules:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, self)


def module(file: str) -> str:
    """The module of a file: `a/b.py` is `a.b`, and `a/__init__.py` is `a`."""
    name = file.removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def imports(name: str, is_package: bool, text: str) -> set[str]:
    """The modules that a module imports anywhere in its text, also within functions."""
    found = set()
    package = name if is_package else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            # What is imported from a package may be another module.
            known = sys.modules.get(base)
            names = (alias.name for alias in node.names if not hasattr(known, alias.name))
            found.update([base, *(f"{base}.{name}" for name in names if name != "*")])
    return found


def absent(modules: dict[str, tuple[bool, str]]) -> set[str]:
    """The modules that `app` imports, directly or indirectly, and that this component lacks. The modules
    of the project are given by name: whether each is a package, and its text."""
    found, seen, left = set(), set(), ["app"]
    while left:
        name = left.pop()
        parent = name.rpartition(".")[0]
        if name in seen:
            continue
        seen.add(name)
        if parent:
            left.append(parent)
        if name in modules:
            left.extend(imports(name, *modules[name]))
        # `from a import b` where `a` is the project's: Python says it if there is no `b`.
        elif name not in sys.modules and parent not in modules:
            found.add(name)
    return found


def built() -> dict[str, tuple[bool, str]]:
    """The project's modules of which this component was made."""
    folder = os.path.dirname(app.__file__)
    modules = {}
    for name, one in list(sys.modules.items()):
        file = getattr(one, "__file__", None) or ""
        if os.path.dirname(file).startswith(folder) and file.endswith(".py"):
            with open(file, encoding="utf-8") as opened:
                modules[name] = os.path.basename(file) == "__init__.py", opened.read()
    return modules


#: Imports that fail without an edit, too: the driver handles that.
ABSENT = absent(built())


def current(describes: bool):
    """The driver's module: the edited one, or that of the build."""
    if SOURCES.startswith(MARK):
        return app
    sources = Sources(json.loads(SOURCES[8 : 8 + int(SOURCES[:8])]))
    if describes:
        modules = {name: (sources.is_package(name), text) for name, (_, text) in sources.modules.items()}
        if new := absent(modules) - ABSENT:
            raise ImportError(f"this component lacks {', '.join(sorted(new))}")
    sources.install()
    return importlib.import_module("app")


def through(name: str, function: str):
    def call(_, *arguments):
        return getattr(getattr(current(function == "describe"), name)(), function)(*arguments)

    return call


for name, functions in FUNCTIONS.items():
    if hasattr(app, name):
        globals()[name] = type(name, (), {function: through(name, function) for function in functions})
