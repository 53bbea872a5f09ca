"""Reward functions for Python trainers, answered by bridge.mjs in a Node process.

trl_reward_functions() gives one function per named part with its weight, as TRL's trainers want them; score() answers
samples for anything else. The process starts with the first call and ends with the program.
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "rewards.json").read_text(encoding="utf-8"))


def split_lines(text):
    """Lines of a JSON-lines file: newlines only, as text may hold other separators."""
    return [line for line in text.split("\n") if line.strip()]


class Bridge:
    """One Node process; batches go in and come out in order."""

    def __init__(self):
        self._process = None
        self._lock = threading.Lock()

    def _start(self):
        named = os.environ.get("TURNWISE_NODE", "node")
        # Another machine may not have the program that this one names.
        node = named if shutil.which(named) else "node"
        command = [
            node,
            "--experimental-vm-modules",
            "--disable-warning=ExperimentalWarning",
            str(HERE / "bridge.mjs"),
        ]
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except FileNotFoundError as error:
            raise RuntimeError(
                f"The rewards need Node 20.15 or later, and {node!r} was not found. "
                "Install it, or name its program in the variable TURNWISE_NODE."
            ) from error
        atexit.register(self.close)
        return process

    def score(self, samples):
        """Answers of samples {prompt, completion, row, step}, in order."""
        samples = list(samples)
        if not samples:
            return []
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
            process = self._process
            lines = "".join(json.dumps(sample) + "\n" for sample in samples).encode("utf-8")
            writer = threading.Thread(target=self._write, args=(process, lines))
            writer.start()
            answers = [process.stdout.readline() for _ in samples]
            writer.join()
            if not answers[-1]:
                raise RuntimeError("The reward process ended; what it said stands above.")
            return [json.loads(answer) for answer in answers]

    @staticmethod
    def _write(process, lines):
        try:
            process.stdin.write(lines)
            process.stdin.flush()
        except (BrokenPipeError, OSError):
            pass  # the reader sees the end of the answers

    def close(self):
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.stdin.close()
            process.wait(timeout=10)


bridge = Bridge()


def score(samples):
    return bridge.score(samples)


def completion_text(completion):
    """TRL gives messages for conversations, text otherwise."""
    if isinstance(completion, str):
        return completion
    return "".join(message["content"] or "" for message in completion)


class _Shared:
    """Several functions are asked about one batch in turn: it is scored once."""

    def __init__(self):
        self._key = None
        self._answers = []

    def answers(self, samples):
        key = json.dumps(samples)
        if key != self._key:
            self._answers = bridge.score(samples)
            self._key = key
        return self._answers


def trl_reward_functions():
    """Functions for `reward_funcs` and their `reward_weights`, in the order of the run."""
    shared = _Shared()

    def make(name):
        def reward(prompts, completions, prompt_text, row, trainer_state=None, **_columns):
            step = trainer_state.global_step if trainer_state is not None else 0
            samples = [
                {"prompt": prompt, "completion": completion_text(completion), "row": columns, "step": step}
                for prompt, completion, columns in zip(prompt_text, completions, row, strict=True)
            ]
            return [answer["parts"][name] for answer in shared.answers(samples)]

        reward.__name__ = re.sub(r"\s", "_", name)
        return reward

    parts = SETTINGS["rewards"]
    return [make(part["name"]) for part in parts], [part["weight"] for part in parts]
