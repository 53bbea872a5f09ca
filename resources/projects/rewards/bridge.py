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


# Seconds without an answer after which the process is killed: what looks at no clock is not ended by a limit inside.
SILENT = 60 + SETTINGS["callMs"] / 100 * len(SETTINGS["rewards"])
# What Node may need to start, and nothing of what the trainer's environment holds besides, such as keys.
NEEDED = ("PATH", "HOME", "LD_LIBRARY_PATH", "SystemRoot", "ELECTRON_RUN_AS_NODE")


def bridge_command():
    """The words that start Node, and its environment."""
    named = os.environ.get("TURNWISE_NODE", "node")
    # Another machine may not have the program that this one names.
    node = shutil.which(named) or shutil.which("node")
    if node is None:
        raise RuntimeError(
            f"The rewards need Node 20.15 or later, and {named!r} was not found. "
            "Install it, or name its program in the variable TURNWISE_NODE."
        )
    environment = {"TZ": "UTC", **{name: os.environ[name] for name in NEEDED if name in os.environ}}
    asked = subprocess.run([node, "--permission", "-e", "0"], env=environment, capture_output=True)
    walls = ["--permission", f"--allow-fs-read={HERE}"] if asked.returncode == 0 else []
    return [node, *walls, str(HERE / "bridge.mjs")], environment


class Bridge:
    """One Node process; batches go in and come out in order."""

    def __init__(self):
        self._process = None
        self._lock = threading.Lock()

    def _living(self):
        if self._process is None or self._process.poll() is not None:
            command, environment = bridge_command()
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            atexit.register(self.close)
        return self._process

    def score(self, samples):
        """Answers of samples {prompt, completion, row, step}, in order."""
        samples, answers = list(samples), []
        with self._lock:
            while len(answers) < len(samples):
                answers += self._ask(samples[len(answers) :])
                if len(answers) < len(samples):
                    silent = samples[len(answers)]
                    samples[len(answers)] = {**silent, "fault": f"Stopped after {SILENT:.0f} s without an answer."}
        return answers

    def _ask(self, samples):
        """Answers until one does not come in time."""
        process, answers, killed = self._living(), [], threading.Event()
        lines = "".join(json.dumps(sample) + "\n" for sample in samples).encode("utf-8")
        writer = threading.Thread(target=self._write, args=(process, lines))
        writer.start()
        for _ in samples:
            timer = threading.Timer(SILENT, lambda: (killed.set(), process.kill()))
            timer.start()
            answer = process.stdout.readline()
            timer.cancel()
            if not answer:
                break
            answers.append(json.loads(answer))
        writer.join()
        if len(answers) < len(samples) and not killed.is_set():
            raise RuntimeError("The reward process ended; what it said stands above.")
        if killed.is_set():
            process.wait()
        return answers

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
