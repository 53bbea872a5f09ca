# Stands behind a line that sets FILES: by the name of a module its path and its text, as Turnwise wrote them. Runs MAIN of them. The
# folder of the project is no place to import from: nothing else that lies in it, or comes into it later, takes the place of a module.
import os
import sys

PROJECT = os.path.realpath(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class NothingHere:
    def find_spec(self, name, target=None):
        return None


class ListedFiles:
    """Finds the listed modules before anything else does, and runs their texts."""

    def find_spec(self, name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=FILES[name][0]) if name in FILES and name != MAIN else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        run(module.__name__, module.__dict__)


def run(name, names):
    import linecache

    path, text = FILES[name]
    names["__file__"] = path
    # What is shown of it is what runs.
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    exec(compile(text, path, "exec"), names)


def nothing_here(path):
    real = os.path.realpath(path)
    if real == PROJECT or real.startswith(os.path.join(PROJECT, "")):
        return NothingHere()
    raise ImportError


sys.path_hooks.insert(0, nothing_here)
sys.path_importer_cache.clear()
sys.meta_path.insert(0, ListedFiles())
run(MAIN, globals())
