"""PyTorch: transformers' model, its key/value cache, a hand loop (generate() does more work around the same calls)."""

import argparse
import json
import statistics
import time

from common import random_rows, status_bytes

import torch
from transformers import AutoModelForCausalLM, DynamicCache

PROMPT_TOKENS, NEW_TOKENS = 64, 64


def generate(model, prompts: torch.Tensor, sample: bool, on_step) -> torch.Tensor:
    cache, ids, out = DynamicCache(config=model.config), prompts, []
    for _ in range(NEW_TOKENS):
        logits = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        if sample:
            ids = torch.multinomial(torch.softmax(logits, -1), 1)
        else:
            ids = logits.argmax(-1, keepdim=True)
        out.append(ids)
        on_step()
    return torch.cat(out, 1)


def measure(model, prompts, flags) -> dict:
    rounds, cpu = [], []
    for _ in range(flags.repeats + 1):
        instants, cpu_instants = [time.perf_counter()], []

        def on_step():
            instants.append(time.perf_counter())
            cpu_instants.append(time.process_time())

        generate(model, prompts, flags.sampling == "multinomial", on_step)
        rounds.append(instants)
        cpu.append((cpu_instants[-1] - cpu_instants[0]) / (NEW_TOKENS - 1))
    rounds, cpu = rounds[1:], cpu[1:]
    decode = [flags.batch * (NEW_TOKENS - 1) / (r[-1] - r[1]) for r in rounds]
    steps = [b - a for r in rounds for a, b in zip(r[1:], r[2:])]
    return dict(
        peer="pytorch",
        shape=flags.shape,
        threads=flags.threads,
        batch=flags.batch,
        precision=flags.precision,
        sampling=flags.sampling,
        tokensPerSecond=max(decode),
        tokensPerSecondRounds=decode,
        stepMsMedian=1000 * statistics.median(steps),
        cpuMsPerStep=1000 * min(cpu),
        prefillTokensPerSecond=max(flags.batch * PROMPT_TOKENS / (r[1] - r[0]) for r in rounds),
        peakRssBytes=status_bytes("VmHWM"),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--shape", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--precision", default="f32", choices=["f32"])
    parser.add_argument("--sampling", default="multinomial", choices=["multinomial", "greedy"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(f"{flags.model}/hf", dtype=torch.float32, attn_implementation="sdpa")
    prompts = torch.tensor(random_rows(flags.batch, PROMPT_TOKENS, model.config.vocab_size))
    with torch.inference_mode():
        if flags.check:
            print(json.dumps(dict(ids=generate(model, prompts, False, lambda: None).tolist())))
        else:
            print(json.dumps(measure(model, prompts, flags)))
