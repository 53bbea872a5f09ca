"""One LoRA training step in PyTorch: forward, log-probabilities of the next tokens, backward, AdamW.

transformers' model (sdpa attention) with peft on all seven linears. The loss is sum(c * logprob) with given c, as in a
policy gradient. `--checkpoint` recomputes each layer in the backward pass; logits then exist for a chunk of tokens at
a time. `--dtype bfloat16` holds the frozen weights and computes in 16 bits, with peft's adapter in f32, its default.
`--head recompute` is the usual checkpointed chunk; `--head fused` keeps each token's hidden gradient instead
and multiplies it by c later, which saves the second vocabulary product; `--head whole` is the plain model's head.
"""

import argparse
import json
import statistics
import time

from common import AnonymousPeak, random_rows, reset_peak, status_bytes

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.checkpoint import checkpoint
from transformers import AutoModelForCausalLM

LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def chunk_logprobs(hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = torch.nn.functional.linear(hidden, weight).float()
    return logits.gather(1, targets[:, None])[:, 0] - logits.logsumexp(1)


class FusedLogprobs(torch.autograd.Function):
    """Log-probabilities of the targets; d logprob / d hidden of each token is formed in the forward pass."""

    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk):
        logprobs, gradients = hidden.new_empty(len(hidden)), torch.empty_like(hidden)
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            logits = torch.nn.functional.linear(hidden[part], weight)
            normalizer = logits.logsumexp(1, keepdim=True)
            chosen = targets[part, None]
            logprobs[part] = (logits.gather(1, chosen) - normalizer)[:, 0]
            probabilities = logits.sub_(normalizer).exp_()
            gradients[part] = weight[targets[part]] - probabilities @ weight
        ctx.save_for_backward(gradients)
        return logprobs

    @staticmethod
    def backward(ctx, coefficients):
        (gradients,) = ctx.saved_tensors
        return gradients * coefficients[:, None], None, None, None


def head_logprobs(hidden, weight, targets, flags) -> torch.Tensor:
    """hidden [tokens, D], targets [tokens] -> [tokens]"""
    if flags.head == "whole":
        return chunk_logprobs(hidden, weight, targets)
    if flags.head == "fused":
        return FusedLogprobs.apply(hidden, weight, targets, flags.chunk)
    pieces = zip(hidden.split(flags.chunk), targets.split(flags.chunk))
    return torch.cat([checkpoint(chunk_logprobs, h, weight, t, use_reentrant=False) for h, t in pieces])


def make_model(flags):
    model = AutoModelForCausalLM.from_pretrained(f"{flags.model}/hf", dtype=flags.dtype, attn_implementation="sdpa")
    model.config.use_cache = False
    if flags.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    config = LoraConfig(r=16, lora_alpha=32, target_modules=LINEARS, task_type="CAUSAL_LM")
    model = get_peft_model(model, config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.01)
    return model.train()


def train(model, flags):
    """Yields after each step its loss."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, foreach=True)
    decoder = model.base_model.model
    weight = decoder.get_output_embeddings().weight
    vocab = decoder.config.vocab_size
    coefficients = torch.randn(flags.rows * flags.length) / (flags.rows * flags.length)
    for step in range(flags.steps + 1):
        ids = torch.tensor(random_rows(flags.rows, flags.length + 1, vocab, seed=1 + step))
        hidden = decoder.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state.flatten(0, 1)
        logprobs = head_logprobs(hidden, weight, ids[:, 1:].flatten(), flags)
        loss = (coefficients * logprobs).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield loss.item()


def matmul_gflops(dtype: torch.dtype) -> float:
    a, b, best = torch.randn(1024, 896).to(dtype), torch.randn(4864, 896).to(dtype), float("inf")
    for _ in range(10):
        start = time.perf_counter()
        torch.nn.functional.linear(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * 1024 * 896 * 4864 / best / 1e9


def measure(flags) -> dict:
    gflops = matmul_gflops(flags.dtype)
    imported = dict(importedRssBytes=status_bytes("VmRSS"), importedAnonymousBytes=status_bytes("RssAnon"))
    model = make_model(flags)
    reset_peak()
    seconds, cpu_seconds, losses = [], [], []
    with AnonymousPeak() as anonymous:
        start, cpu = time.perf_counter(), time.process_time()
        for loss in train(model, flags):
            now, cpu_now = time.perf_counter(), time.process_time()
            seconds.append(now - start)
            cpu_seconds.append(cpu_now - cpu)
            losses.append(loss)
            start, cpu = now, cpu_now
    name = "pytorch" + ("-bf16" if flags.dtype == torch.bfloat16 else "")
    if flags.checkpoint:
        name += "-checkpoint" + ("-fused-head" if flags.head == "fused" else "")
    return dict(
        peer=name,
        shape=flags.shape,
        threads=flags.threads,
        rows=flags.rows,
        length=flags.length,
        checkpoint=flags.checkpoint,
        head=flags.head,
        dtype=str(flags.dtype),
        secondsPerStep=min(seconds[1:]),
        secondsPerStepMedian=statistics.median(seconds[1:]),
        secondsPerStepRounds=seconds[1:],
        cpuSecondsPerStep=min(cpu_seconds[1:]),
        tokensPerSecond=flags.rows * flags.length / statistics.median(seconds[1:]),
        tokensPerSecondBest=flags.rows * flags.length / min(seconds[1:]),
        **imported,
        peakRssBytes=status_bytes("VmHWM"),
        peakAnonymousBytes=anonymous.bytes,
        matmulGflops=gflops,
        losses=losses,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--shape", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=3, help="measured steps, after one that warms up")
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--head", choices=["whole", "recompute", "fused"])
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--chunk", type=int, default=256, help="tokens of a head chunk")
    flags = parser.parse_args()
    flags.head = flags.head or ("recompute" if flags.checkpoint else "whole")
    flags.dtype = getattr(torch, flags.dtype)
    torch.set_num_threads(flags.threads)
    torch.manual_seed(1)
    print(json.dumps(measure(flags)))
