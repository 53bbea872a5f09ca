"""What the Python peers share: prompts as in measure.mjs, memory of this process, loading a model in float32."""

import os
import threading
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def random_rows(rows: int, length: int, vocab: int, seed: int = 1) -> list[list[int]]:
    """[rows][length] ids in [3, vocab), the same as randomPrompts in measure.mjs (mulberry32)."""
    mask, state, out = 0xFFFFFFFF, seed, []
    for _ in range(rows * length):
        state = (state + 0x6D2B79F5) & mask
        t = ((state ^ (state >> 15)) * (state | 1)) & mask
        t = ((t + (((t ^ (t >> 7)) * (t | 61)) & mask)) & mask) ^ t
        out.append(3 + int((t ^ (t >> 14)) / 4294967296 * (vocab - 3)))
    return [out[i * length : (i + 1) * length] for i in range(rows)]


def status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def reset_peak() -> None:
    """VmHWM starts again from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


class AnonymousPeak:
    """The largest RssAnon seen while running, looked at every 5 ms."""

    def __enter__(self):
        self.bytes, self.running = 0, True
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        while self.running:
            self.bytes = max(self.bytes, status_bytes("RssAnon"))
            time.sleep(0.005)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
