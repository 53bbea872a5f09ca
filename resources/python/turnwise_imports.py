"""
Imports of a person's code: from its folder only what was allowed there, by its content.

Standard library only, Python 3.9 or newer. The adapter runs under this rule, and so does Python that the code starts,
which pays for each module that this file imports.
"""

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import pkgutil
import re
import site
import sys
import threading
import weakref
import zipimport


def identity_of(path):
    """What the file system knows a folder by, whatever it is called; None: nothing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    # Some file systems number nothing.
    return (status.st_dev, status.st_ino) if status.st_ino else None


def parents(path):
    above = os.path.dirname(path)
    while above != path:
        yield above
        path, above = above, os.path.dirname(above)


class Beside:
    """
    Imports from the folder of the code: files that were allowed, by their content, and nothing else there. `modules`: the
    SHA-256 of each, by path. What was not allowed is as if it were not there, so that it takes the place of nothing.
    `paths`: where Python imports from before anything else is known to it. `private`: a folder of this process alone.
    `prefix`: the person's own place of compiled code, if there is one; what this process starts is told another.
    """

    def __init__(self, folder, modules, paths, private, prefix, started=None):
        self.folder = folder
        self.private = private
        # The folder as the code started: it may be moved, or a link to it come to lead elsewhere.
        self.started = started or (os.path.realpath(folder), identity_of(folder))
        self.modules = {os.path.normcase(path): digest for path, digest in modules.items()}
        self.paths = paths
        self.prefix = prefix
        # Folders that the interpreter imports from by itself. None: imports from other folders are not looked at.
        self.installed = None
        # Whether frames of a file are those of allowed code, by its name.
        self.known = {}
        # Threads that packages started as they were imported.
        self.threads, self.starts = weakref.WeakSet(), None
        # What was not imported: from the folder, and from which other one.
        self.left_out, self.elsewhere = set(), {}

    def place(self, path):
        """Finds where in the folder a path leads, by its name or by its links; None: elsewhere."""
        real = os.path.realpath(path)
        for root, found in (
            (os.path.abspath(self.folder), os.path.abspath(path)),
            (os.path.realpath(self.folder), real),
            (self.started_above(real), real),
        ):
            if root is None:
                continue
            if is_in(found, root):
                return os.path.normpath(os.path.join(self.folder, os.path.relpath(found, root)))
        return None

    def started_above(self, path):
        """Finds where the folder of the start is now; where it was moved, among those above a path. None: not there."""
        place, identity = self.started
        if identity is None or identity_of(place) == identity:
            return place
        return next((above for above in [path, *parents(path)] if identity_of(above) == identity), None)

    def is_installed(self, place):
        """
        The standard library, and packages installed in an environment inside the folder, are that of the interpreter, which
        was allowed itself. What else lies in its environment is not, nor are other folders on its path: a package that is
        being edited lies there as the person's code does.
        """
        packages = site.getsitepackages([sys.prefix, sys.exec_prefix, *site.PREFIXES])
        own = [self.place(each) for each in [self.private, *self.paths, *packages, site.getusersitepackages()]]
        roots = {each for each in own if each not in (None, os.path.normpath(self.folder))}
        return any(is_in(place, each) for each in roots)

    def guards(self, path):
        """Whether what lies there is imported as it was allowed, or not at all."""
        place = self.place(path)
        return place is not None and not self.is_installed(place)

    def digest(self, path):
        place = self.place(path)
        return place and self.modules.get(os.path.normcase(place))

    def content(self, path):
        """Reads a file; what changed since it was allowed is not run, nor what nobody was asked about."""
        with open(path, "rb") as file:
            data = file.read()
        digest = self.digest(path)
        if digest is None:
            raise ImportError(f"{path} was not allowed, so it was not run: nobody is asked about it, or it is new.")
        if hashlib.sha256(data).hexdigest() != digest:
            raise ImportError(f"{path} changed after it was allowed, so it was not run. Start again to be asked about it.")
        return data

    def hook(self, path):
        if os.path.isdir(path):
            if self.guards(path):
                return FinderBeside(path, self)
            if self.is_elsewhere(path):
                return FinderElsewhere(path, self)
        # A file, or the name by which a package knows its own finder: whatever finds code of the folder by it, loads none.
        raise ImportError

    def is_elsewhere(self, path):
        """
        Whether a path that code added leads to a folder that nobody was asked about: neither that of the code, nor of the
        interpreter, nor of a package that it found, nor where packages keep code that they fetch.
        """
        if self.installed is None or self.guards(path):
            return False
        place, real = os.path.abspath(path), os.path.realpath(path)
        if any(is_in(place, each) or is_in(real, each) for each in self.installed):
            return False
        return all(os.path.abspath(each) != place for each in self.places_of_packages())

    def places_of_packages(self):
        """Lists the folders of packages that were imported, unless they are code of the person, which could add any."""
        for module in list(sys.modules.values()):
            spec = getattr(module, "__dict__", {}).get("__spec__")
            if spec is not None and not self.is_own(spec):
                places = module.__dict__.get("__path__")
                # That of a package in several places would look for them again.
                places = getattr(places, "_path", places)
                yield from (each for each in places if isinstance(each, str)) if isinstance(places, (list, tuple)) else ()

    def is_own(self, spec):
        """Whether a module lies in the folder of the code; for a package without a file, whether a folder of its name does."""
        origin = getattr(spec, "origin", None)
        if isinstance(origin, str):
            return self.guards(origin)
        folder = os.path.join(self.folder, *str(getattr(spec, "name", "")).split("."))
        return os.path.isdir(folder) and self.guards(folder)

    def open(self):
        """Python was started with `-S`: only now does it read its environment, whose files may lead into the folder."""
        self.guard()
        self.follow_into_children()
        site.main()
        usual = [each for each in [*self.paths, *sys.path] if os.path.isabs(each) and not self.guards(each)]
        fetched = [each for each in caches() if not is_in(os.path.realpath(self.folder), os.path.realpath(each))]
        self.installed = {form(each) for each in usual + fetched for form in (os.path.normpath, os.path.realpath)}
        sys.path.insert(0, self.folder)

    def guard(self):
        sys.path_hooks.insert(0, self.hook)
        sys.meta_path.insert(0, NoMetadata(self))
        sys.addaudithook(self.check_opening)
        self.watch_threads()
        sys.path_importer_cache.clear()
        self.check_files()
        self.forbid_caches()
        self.forbid_path_files()
        sys.pycache_prefix = self.prefix

    def check_opening(self, event, arguments):
        """Keeps Python, and packages that look for plug-ins, from files in which they would find what to run."""
        path = arguments[0] if event == "open" else None
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        path = os.fsdecode(path)
        if SAYS_WHAT_RUNS.search(path) and self.guards(path):
            raise PermissionError(f"{path} says what Python runs, so it was not read: nobody is asked about it.")
        is_read = arguments[2] & (os.O_WRONLY | os.O_RDWR) == 0
        if is_read and self.is_of_package(sys._getframe().f_back) and self.guards(path) and self.digest(path) is None:
            raise PermissionError(
                f"{path} tells a package what to do as it is imported, so it was not read: nobody is asked about it. "
                "Have the code read it, or keep it in another folder."
            )

    def is_of_package(self, frame):
        """
        Whether a package that is being imported does something by itself, with no code of the folder that asks it to: in a thread too
        that a package started as it was imported, while any package is.
        """
        # Loaders of Python read what is imported by the rule for that.
        if frame is not None and frame.f_code.co_filename == BOOTSTRAP:
            return False
        asks = self.asking(frame)
        if asks is not None:
            return asks == PACKAGE
        thread = threading._active.get(threading.get_ident())
        return thread in self.threads and any(self.asking(each) == PACKAGE for each in sys._current_frames().values())

    def asking(self, frame):
        """Who asks for what a thread does: code of the folder, or this file, or a package that is being imported; None: neither."""
        while frame is not None:
            name = frame.f_code.co_filename
            # A package that starts a thread by way of `watch_threads` asks all the same.
            is_own = frame.f_globals is globals() and frame.f_code is not self.starts
            if is_own or self.is_code(name):
                return CODE
            if name == BOOTSTRAP and frame.f_code.co_name == "exec_module":
                return PACKAGE
            frame = frame.f_back
        return None

    def watch_threads(self):
        """Remembers threads that packages start as they are imported, since those show no sign of it."""
        usual = threading.Thread.start

        @functools.wraps(usual)
        def start(thread):
            if self.is_of_package(sys._getframe().f_back):
                self.threads.add(thread)
            usual(thread)

        self.starts, threading.Thread.start = start.__code__, start

    def is_code(self, name):
        if name not in self.known:
            self.known[name] = self.digest(name) is not None
        return self.known[name]

    def check_files(self):
        """Has every loader run sources and compiled modules of the folder as they were allowed, whatever found them."""
        loaders = importlib._bootstrap_external.FileLoader, importlib.machinery.ExtensionFileLoader
        read, create = loaders[0].get_data, loaders[1].create_module

        def get_data(loader, path):
            return self.content(path) if path == loader.path and self.guards(path) else read(loader, path)

        def create_module(loader, spec):
            if not self.guards(spec.origin):
                return create(loader, spec)
            # Loads a copy of the bytes that were allowed: the file could change between a look at it and its loading.
            copy, remove = private_copy(os.path.basename(spec.origin), self.content(spec.origin))
            try:
                return create(loader, importlib.machinery.ModuleSpec(spec.name, loader, origin=copy))
            finally:
                remove()

        loaders[0].get_data, loaders[1].create_module = get_data, create_module
        sources = importlib._bootstrap_external.SourceLoader
        compile_source = sources.source_to_code

        def source_to_code(loader, data, path, **named):
            # A loader may have read the text in a way of its own.
            is_text = isinstance(data, (bytes, str)) and isinstance(path, str)
            return compile_source(loader, self.content(path) if is_text and self.guards(path) else data, path, **named)

        sources.source_to_code = source_to_code
        open_archive = zipimport.zipimporter.__init__

        def of_archive(importer, path):
            if self.guards(path) or self.is_elsewhere(path):
                raise zipimport.ZipImportError(f"{path} was not allowed, so it was not run: nobody is asked about archives.", path=path)
            open_archive(importer, path)

        zipimport.zipimporter.__init__ = of_archive

    def forbid_caches(self):
        """Keeps every loader from compiled code that lies beside a source here."""
        usual = importlib._bootstrap_external.cache_from_source

        def cache_from_source(path, *arguments, **named):
            if not self.guards(path):
                return usual(path, *arguments, **named)
            raise NotImplementedError

        importlib._bootstrap_external.cache_from_source = cache_from_source

    def forbid_path_files(self):
        """Keeps `site` from `.pth` files that lie here, in which there may be code."""
        usual = site.addpackage

        def addpackage(sitedir, name, known_paths):
            return known_paths if self.guards(os.path.join(sitedir, name)) else usual(sitedir, name, known_paths)

        site.addpackage = addpackage

    def arguments(self):
        return self.folder, dict(self.modules), self.paths, self.private, self.prefix, self.started

    def follow_into_children(self):
        """Processes that `multiprocessing` starts afresh import by the same rule: they get it with what they are told first."""
        import multiprocessing.spawn
        import multiprocessing.util

        usual = multiprocessing.spawn.get_preparation_data

        def get_preparation_data(name):
            return {"turnwise": Rule(*self.arguments()), **usual(name)}

        multiprocessing.spawn.get_preparation_data = get_preparation_data
        # They read neither their environment nor the working folder before they are told anything.
        command = multiprocessing.spawn.get_command_line
        untold = functools.partial(untold_words, prefix=self.prefix)
        multiprocessing.spawn.get_command_line = lambda **named: untold(command(**named))
        if hasattr(multiprocessing.util, "spawnv_passfds"):
            start = multiprocessing.util.spawnv_passfds
            multiprocessing.util.spawnv_passfds = lambda path, words, fds: start(path, untold(words), fds)
        # What a server of forks imports ahead, it imports before it is told anything: it imports nothing ahead.
        try:
            import multiprocessing.forkserver as server
        except ImportError:
            return
        server.set_forkserver_preload = lambda names, **others: None
        server._forkserver._preload_modules = []


def untold_words(words, prefix):
    """Words that start Python as Turnwise does: without its environment, and with no working folder on its path."""
    program, *others = words
    first = "import sys; sys.path[:] = [each for each in sys.path if each]; "
    return [program, "-X", f"pycache_prefix={prefix or ''}", "-S", *(first + word if before == "-c" else word for before, word in zip(words, others))]


def leave_environment_to_others():
    """Keeps the `-S` of this process from Python that other packages start with the same flags."""
    import multiprocessing.util
    import subprocess

    usual = subprocess._args_from_interpreter_flags

    def flags():
        return [word for word in usual() if word != "-S"]

    subprocess._args_from_interpreter_flags = multiprocessing.util._args_from_interpreter_flags = flags


class Rule:
    """Opens the folder wherever it is unpickled, which takes this file's text alone."""

    def __init__(self, *arguments):
        self.opening = (
            f'here = {{"__name__": "turnwise_imports", "source": {source!r}}}\n'
            "exec(compile(here['source'], 'turnwise_imports.py', 'exec'), here)\n"
            "here['leave_environment_to_others']()\n"
            f"here['leave_out']({start_of(arguments[3])!r})\n"
            f"here['Beside'](*{arguments!r}).open()"
        )

    def __reduce__(self):
        return exec, (self.opening, {})


START = """# Python starts with this, and then as it would have without it.
import sys

here = %(here)s
sys.path[:] = [each for each in sys.path if each != here]
if sys.version_info >= (3, 9):
    sys.path.insert(0, here)
    import turnwise_imports

    sys.path.remove(here)
    turnwise_imports.start_under(%(arguments)s)
sys.dont_write_bytecode = sys.dont_write_bytecode or %(bare)s
"""


def start_of(private):
    return os.path.join(private, "start")


def lead_others(beside):
    """
    Has Python that the code starts in other ways import from the folder by the same rule: a module that Python runs as it
    starts leads it there. What does not read that still looks for compiled code elsewhere than beside the sources.
    """
    here = start_of(beside.private)
    os.makedirs(here, exist_ok=True)
    # Else each of them would compile again what it imports before the rule begins.
    bare = os.environ.pop("PYTHONDONTWRITEBYTECODE", "") != ""
    values = {"bare": bare, "here": ascii(here), "arguments": ", ".join(map(ascii, beside.arguments()))}
    for name, text in (("turnwise_imports.py", source), ("sitecustomize.py", START % values)):
        with open(os.path.join(here, name), "w", encoding="utf-8") as file:
            file.write(text)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(beside.private, "compiled")
    os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(beside.private, "numba"))


def start_under(*arguments):
    """Opens the rule in Python that the code started: for the folder of the code, since other folders are its own affair."""
    Beside(*arguments).guard()
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def leave_out(place):
    sys.path[:] = [each for each in sys.path if each != place]


def is_in(path, folder):
    return path == folder or path.startswith(os.path.join(folder, ""))


def caches():
    """Lists the places in the person's cache where packages keep code that they fetch or make."""
    names = [os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache"))]
    names += [os.environ.get(name) for name in ("HF_HOME", "HF_MODULES_CACHE")]
    return [each for each in names if each and os.path.isabs(each)]


# Where the loaders of Python are from.
BOOTSTRAP = importlib._bootstrap_external.SourceLoader.get_code.__code__.co_filename

CODE, PACKAGE = "code", "package"

# Metadata of packages (with their entry points), what a debugger does as it starts, further places of a package, compiled code, and
# settings of packages that are evaluated, or name a library to load or a compiler to start, whenever they are read.
SAYS_WHAT_RUNS = re.compile(
    r"(\.(dist-info|egg-info|egg-link|egg|pdbrc|pkg|nbi|nbc)|(^|[/\\])(__pycache__|matplotlibrc|\.numba_config\.yaml|setup\.cfg))([/\\]|$)",
    re.IGNORECASE,
)


class NoMetadata:
    """Is asked first for the metadata of packages, of which there is none in the folder, wherever those after it look."""

    def __init__(self, beside):
        self.beside = beside

    def find_spec(self, name, path=None, target=None):
        return None

    def find_distributions(self, context):
        vars(context)["path"] = [each for each in context.path if not self.beside.guards(each)]
        return []


class FinderBeside:
    """Is no `FileFinder` itself: in a folder of one, others look for more than modules."""

    def __init__(self, path, beside):
        self.beside = beside
        self.files = importlib.machinery.FileFinder(
            path,
            (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
            (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
        )
        self.invalidate_caches = self.files.invalidate_caches

    def iter_modules(self, prefix=""):
        return pkgutil.iter_importer_modules(self.files, prefix)

    def find_spec(self, name, target=None):
        spec = self.files.find_spec(name, target)
        # Without a loader it is a folder of packages, which has no code.
        if spec is None or spec.loader is None or self.beside.digest(spec.origin) is not None:
            return spec
        self.beside.left_out.add(name)
        return None


class FinderElsewhere:
    """Finds nothing in a folder that nobody was asked about, and remembers what it would have found."""

    def __init__(self, path, beside):
        self.path, self.beside = os.path.abspath(path), beside
        self.files = importlib.machinery.FileFinder(
            self.path,
            (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
            (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
            (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
        )
        self.invalidate_caches = self.files.invalidate_caches

    def find_spec(self, name, target=None):
        spec = self.files.find_spec(name, target)
        # It may be that of a package by now.
        if spec is None or not self.beside.is_elsewhere(self.path):
            return spec
        self.beside.elsewhere[name] = self.path
        return None


def private_copy(name, data):
    """A path that leads to these bytes, and what takes it away."""
    if hasattr(os, "memfd_create"):
        # Stays open: a number that is used again would be taken for the module that was loaded before.
        memory = os.memfd_create(name)
        with os.fdopen(os.dup(memory), "wb") as file:
            file.write(data)
        return f"/proc/self/fd/{memory}", lambda: None
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="turnwise-")
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    return os.path.join(folder, name), lambda: shutil.rmtree(folder, ignore_errors=True)
