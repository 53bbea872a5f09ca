"""What the peers of a whole GRPO step share: arguments, prompts, a reward, the clock, and the line that each prints."""

import argparse
import json
import statistics
import time
import zlib
from pathlib import Path

from common import AnonymousPeak, status_bytes

GROUP = 8
LORA = dict(r=16, lora_alpha=32, task_type="CAUSAL_LM", target_modules=[
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])  # fmt: skip


def read_flags(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", required=True)
    parser.add_argument("--shape", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompts", required=True, help="JSON lines with a prompt each, one token per byte")
    parser.add_argument("--per-step", type=int, default=2, help="prompts of a step")
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--steps", type=int, default=3, help="measured steps, after one that warms up")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    return parser.parse_args()


def read_prompts(flags: argparse.Namespace) -> list[str]:
    """As many as the steps need, the first one included."""
    lines = Path(flags.prompts).read_text().splitlines()
    return [json.loads(line)["prompt"] for line in lines][: flags.per_step * (flags.steps + 1)]


def reward_of(ids: list[int]) -> float:
    """Differs between nearly any two completions, so that every one has an advantage. Fails unless all were asked for."""
    return zlib.crc32(bytes(str(ids), "ascii")) / 2**32


class StepClock:
    """Seconds from the end of one step to the end of the next, whatever lies between; and of these, seconds in rollouts."""

    def __init__(self, new_tokens: int):
        self.new_tokens, self.ends, self.rollouts, self.rollout = new_tokens, [time.perf_counter()], [], 0.0
        self.completions = 0
        self.processor = [time.process_time()]

    def timed(self, generate):
        def run(*args, **kwargs):
            start = time.perf_counter()
            answer = generate(*args, **kwargs)
            self.rollout += time.perf_counter() - start
            return answer

        return run

    def check(self, completions) -> None:
        """completions: lists of ids. All have to be as long as was asked."""
        lengths = {len(ids) for ids in completions}
        if lengths != {self.new_tokens}:
            raise SystemExit(f"Expected completions of {self.new_tokens} tokens, got {sorted(lengths)}.")
        self.completions += len(completions)

    def end_step(self) -> None:
        self.ends.append(time.perf_counter())
        self.processor.append(time.process_time())
        self.rollouts.append(self.rollout)
        self.rollout = 0.0

    def report(self, flags: argparse.Namespace, anonymous: AnonymousPeak, **more) -> None:
        """Prints the medians of all steps but the first."""
        seconds = [after - before for before, after in zip(self.ends, self.ends[1:])]
        expected = flags.per_step * GROUP * (flags.steps + 1)
        if len(seconds) != flags.steps + 1 or self.completions != expected:
            raise SystemExit(f"{len(seconds)} steps and {self.completions} completions; expected {expected}.")
        median = statistics.median(seconds[1:])
        print(json.dumps(dict(
            shape=flags.shape,
            threads=flags.threads,
            dtype=flags.dtype,
            secondsPerStep=median,
            stepsPerSecond=1 / median,
            rolloutSeconds=statistics.median(self.rollouts[1:]),
            secondsOfSteps=seconds,
            processorSecondsOfSteps=[after - before for before, after in zip(self.processor, self.processor[1:])],
            anonymousBytes=anonymous.bytes,
            peakRssBytes=status_bytes("VmHWM"),
            **more,
        )))  # fmt: skip
