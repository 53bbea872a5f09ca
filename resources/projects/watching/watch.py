"""What ties a training to Turnwise, which watches it; watch.json beside the training script says so. Without that nothing here
does anything.

Events are lines of JSON in the format of a run's own log, said by the first process alone: written into a file beside the script,
or, where Turnwise does not see this folder, printed in numbered pieces that it puts together. Checkpoints are then printed too.

Every process reads its standard input, of which Turnwise holds the other end: "stop" asks for an end after the current step, and
the end of the pipe ends the process, so that none outlives Turnwise.
"""

import base64
import contextlib
import errno
import json
import os
import shutil
import stat
import sys
import threading
import time
import zlib
from pathlib import Path

# A piece with its head is written to a pipe as a whole, whatever other processes write there (PIPE_BUF).
PIECE = 3_900
# Of a file, so much goes into an event.
FILE_PART = 1 << 16
# Turnwise has these itself.
NOT_CARRIED = ("tokenizer", "vocab", "merges", "chat_template", "special_tokens", "added_tokens", "README")


class StandardOutput:
    """Where pieces are printed, unless something else takes them."""

    def write(self, lines):
        for line in lines:
            whole = line.encode("ascii")
            while whole:
                whole = whole[os.write(1, whole) :]

    def is_stop_wanted(self):
        return False


# Takes the pieces; a launcher may set another.
outlet = StandardOutput()


class Watch:
    """What watch.json says, and the way to Turnwise."""

    def __init__(self, folder):
        file = folder / "watch.json"
        self.is_active = file.exists()
        said = json.loads(file.read_text(encoding="utf-8")) if self.is_active else {}
        self.arguments = said.get("arguments", [])
        self.updates_per_step = said.get("updatesPerStep", 1)
        self.steps = said.get("steps", 0)
        # Steps after which an adapter is wanted; 0: at the end alone.
        self.save_every = said.get("saveEvery", [])
        # Stop after this step; None: train to the end.
        self.until = said.get("until")
        self.shown = said.get("shown", 0)
        self.is_printed = said.get("results") == "output"
        # Of this start; code whose errors are printed does not know it.
        self.mark = said.get("mark", "")
        # A job's copy of this folder is not where Turnwise looks.
        self.home = Path(said.get("home", folder))
        self.events_file = self.home / "events.jsonl"
        self.stop_file = self.home / "stop"
        # Turnwise puts together in output/ what is printed, and that may be this very folder.
        self.output = self.home / ("sent" if self.is_printed else "output")
        self.is_asked_to_stop = False
        self.count = 0

    def is_stop_wanted(self):
        return self.is_asked_to_stop or self.stop_file.exists() or outlet.is_stop_wanted()

    def is_save_due(self, step):
        return any(every > 0 and step % every == 0 for every in self.save_every)

    def say(self, kind, **fields):
        if not self.is_active or not is_first():
            return
        line = json.dumps({"at": int(time.time() * 1000), "type": kind, **fields})
        if self.is_printed:
            outlet.write(pieces(self.mark, self.count, line))
            self.count += 1
            return
        with writing(self.events_file), open(self.events_file, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def bring_home(self, folder, name):
        """Prints the files of a checkpoint, those of every process, and removes them here. Every process calls it. Returns
        their sizes by name."""
        # Where processes share no folder, each has its own random states.
        own = {} if is_first() else {file.name: file.read_bytes() for file in folder.glob("rng_state*")}
        sizes = {}
        for others in gathered([own]):
            for other, content in others.items():
                if is_first() and not (folder / other).exists():
                    (folder / other).write_bytes(content)
        files = sorted(file for file in folder.rglob("*") if file.is_file()) if is_first() else []
        for file in files:
            if file.name.startswith(NOT_CARRIED):
                continue
            relative = file.relative_to(folder).as_posix()
            sizes[relative] = file.stat().st_size
            with open(file, "rb") as opened:
                for offset in range(0, max(1, sizes[relative]), FILE_PART):
                    data = base64.b64encode(opened.read(FILE_PART)).decode("ascii")
                    self.say("file", folder=name, name=relative, offset=offset, data=data)
        gathered([None])
        shutil.rmtree(folder, ignore_errors=True)
        return sizes

    def listen(self):
        """Hears what comes through the pipe of standard input."""
        try:
            kind = os.fstat(0).st_mode
        except OSError:
            return
        # A terminal or /dev/null is no pipe of Turnwise.
        if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            return

        def wait():
            while heard := os.read(0, 1024):
                if b"stop" in heard:
                    self.is_asked_to_stop = True
            os._exit(70)

        threading.Thread(target=wait, daemon=True).start()


def gathered(objects):
    """Those of all processes, in the order of their ranks. Every process calls it."""
    import torch.distributed as processes

    if not (processes.is_available() and processes.is_initialized()):
        return objects
    lists = [None] * processes.get_world_size()
    processes.all_gather_object(lists, objects)
    return [each for one in lists for each in one]


@contextlib.contextmanager
def writing(place):
    """A disk that is full ends the training in a sentence: libraries say it in words of their own, and name no file."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error, Path(place)):
            raise
        sys.exit(f"turnwise: {place} could not be written: the disk is full.")


# A program that found no room for a piece of a file leaves less than this.
NO_ROOM = 1 << 20


def is_disk_full(error, place):
    while error is not None:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error):
            return True
        is_of_writing = isinstance(error, OSError) or "PytorchStreamWriter" in str(error)
        if is_of_writing and shutil.disk_usage(place if place.exists() else place.parent).free < NO_ROOM:
            return True
        error = error.__cause__ or error.__context__
    return False


def is_first():
    return int(os.environ.get("RANK", "0")) == 0


def pieces(mark, number, line):
    """Lines that begin with @turnwise: the mark, number of the event, place among its pieces, checksum, text."""
    parts = [line[i : i + PIECE] for i in range(0, len(line), PIECE)]
    return [
        # What others print may not have ended its line.
        f"\n@turnwise {mark} {number} {i}/{len(parts)} {zlib.crc32(part.encode('ascii')):08x} {part}\n"
        for i, part in enumerate(parts)
    ]


def refuse_model_code():
    """A model's folder may bring Python of its own, which nobody has allowed: it is not loaded, whatever a library trusts."""
    from transformers import dynamic_module_utils

    def refused(*_, **__):
        sys.exit("turnwise: the model brings Python of its own, which is not run. Choose one that transformers knows.")

    for name in ("get_cached_module_file", "get_class_in_module"):
        setattr(dynamic_module_utils, name, refused)


def open_watch(folder):
    watch = Watch(folder)
    if watch.is_active:
        watch.listen()
    return watch
