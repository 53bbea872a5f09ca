# Stands behind a line that sets FILES: by the name of a module its path in the project and its text, as Turnwise wrote them. Runs MAIN
# of them, also in a copy of the project, as a job on a cluster has it. That folder is no place to import from: nothing else that lies
# in it, or comes into it later, takes the place of a module.
import os
import sys

PROJECT = os.path.realpath(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class NothingHere:
    def find_spec(self, name, target=None):
        return None


def nothing_here(path):
    real = os.path.realpath(path)
    if real == PROJECT or real.startswith(os.path.join(PROJECT, "")):
        return NothingHere()
    raise ImportError


sys.path_hooks.insert(0, nothing_here)
sys.path_importer_cache.clear()

# Only now: they might lie in the project otherwise.
import linecache  # noqa: E402
from importlib.machinery import ModuleSpec  # noqa: E402


class ListedFiles:
    """Finds the listed modules before anything else does, and runs their texts."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, origin=place(name)) if name in FILES and name != MAIN else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        run(module.__name__, module.__dict__)


def place(name):
    return os.path.join(PROJECT, *FILES[name][0].split("/"))


def run(name, names):
    path, text = place(name), FILES[name][1]
    names["__file__"] = path
    # What is shown of it is what runs.
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    exec(compile(text, path, "exec"), names)


sys.meta_path.insert(0, ListedFiles())
run(MAIN, globals())
