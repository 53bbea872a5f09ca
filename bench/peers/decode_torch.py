"""PyTorch decoding, sampling included: a hand-written decoder with preallocated caches and packed projections.

It is faster than transformers' own model (`--implementation transformers`, for comparison) and gives the same tokens.
"""

import argparse
import json
import statistics
import time

from common import random_rows, status_bytes

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

PROMPT_TOKENS, NEW_TOKENS, WARM_UP_TOKENS = 64, 65, 6


class Decoder:
    """Llama or Qwen2 from a Hugging Face folder; forward() appends to the caches and returns the last position's logits."""

    def __init__(self, folder: str, batch: int):
        with open(f"{folder}/config.json") as file:
            c = json.load(file)
        w = load_file(f"{folder}/model.safetensors")
        self.heads, self.kv_heads, self.eps = c["num_attention_heads"], c["num_key_value_heads"], c["rms_norm_eps"]
        self.head_dim = c.get("head_dim") or c["hidden_size"] // self.heads
        self.embedding, self.norm = w["model.embed_tokens.weight"], w["model.norm.weight"]
        self.head = w.get("lm_head.weight", self.embedding)
        self.layers = [self.layer(w, f"model.layers.{i}.") for i in range(c["num_hidden_layers"])]
        capacity = PROMPT_TOKENS + NEW_TOKENS
        shape = (batch, self.kv_heads, capacity, self.head_dim)
        self.caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in self.layers]
        theta = c.get("rope_theta") or c["rope_parameters"]["rope_theta"]
        pairs = torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim
        angles = torch.arange(capacity, dtype=torch.float64)[:, None] * theta**-pairs
        self.cos = torch.cat([angles.cos(), angles.cos()], -1).float()
        self.sin = torch.cat([-angles.sin(), angles.sin()], -1).float()
        self.length = 0

    @staticmethod
    def layer(w: dict, path: str) -> dict:
        qkv = [f"{path}self_attn.{part}_proj" for part in "qkv"]
        bias = torch.cat([w[f"{name}.bias"] for name in qkv]) if f"{qkv[0]}.bias" in w else None
        return dict(
            attention_norm=w[f"{path}input_layernorm.weight"],
            qkv=torch.cat([w.pop(f"{name}.weight") for name in qkv]),
            qkv_bias=bias,
            output=w[f"{path}self_attn.o_proj.weight"],
            mlp_norm=w[f"{path}post_attention_layernorm.weight"],
            gate_up=torch.cat([w.pop(f"{path}mlp.{part}_proj.weight") for part in ("gate", "up")]),
            down=w[f"{path}mlp.down_proj.weight"],
        )

    def rotate(self, x):
        half = self.head_dim // 2
        part = slice(self.length, self.length + x.shape[2])
        return x * self.cos[part] + torch.cat([x[..., half:], x[..., :half]], -1) * self.sin[part]

    def attention(self, layer, cache, x):
        batch, tokens, _ = x.shape
        rotated, end = self.heads + self.kv_heads, self.length + tokens
        qkv = F.linear(x, layer["qkv"], layer["qkv_bias"]).view(batch, tokens, -1, self.head_dim).transpose(1, 2)
        qk = self.rotate(qkv[:, :rotated])
        cache[0][:, :, self.length : end], cache[1][:, :, self.length : end] = qk[:, self.heads :], qkv[:, rotated:]
        keys, values = (part[:, :, :end] for part in cache)
        out = F.scaled_dot_product_attention(
            qk[:, : self.heads], keys, values, is_causal=self.length == 0, enable_gqa=True
        )
        return F.linear(out.transpose(1, 2).reshape(batch, tokens, -1), layer["output"])

    def forward(self, ids):
        x, width = self.embedding[ids], (self.embedding.shape[1],)
        for layer, cache in zip(self.layers, self.caches):
            x = x + self.attention(layer, cache, F.rms_norm(x, width, layer["attention_norm"], self.eps))
            gate, up = F.linear(F.rms_norm(x, width, layer["mlp_norm"], self.eps), layer["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        self.length += ids.shape[1]
        return F.linear(F.rms_norm(x[:, -1], width, self.norm, self.eps), self.head)

    def clear(self):
        self.length = 0


class TransformersDecoder:
    """The same two calls on transformers' model."""

    def __init__(self, folder: str, batch: int):
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        self.clear()

    def forward(self, ids):
        return self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1).logits[:, -1]

    def clear(self):
        from transformers import DynamicCache

        self.cache = DynamicCache(config=self.model.config)


def sample(logits: torch.Tensor) -> torch.Tensor:
    """One id of each row from softmax(logits); one uniform number a row is faster than torch.multinomial's one an entry."""
    cumulative = torch.softmax(logits, -1).cumsum(-1)
    return torch.searchsorted(cumulative, torch.rand(len(logits), 1) * cumulative[:, -1:]).clamp_(max=logits.shape[1] - 1)


def generate(model, prompts: torch.Tensor, new_tokens: int, greedy: bool, on_step) -> torch.Tensor:
    model.clear()
    ids, out = prompts, []
    for _ in range(new_tokens):
        logits = model.forward(ids)
        ids = logits.argmax(-1, keepdim=True) if greedy else sample(logits)
        out.append(ids)
        on_step()
    return torch.cat(out, 1)


def time_one(model, prompts, greedy: bool) -> dict:
    instants, cpu = [time.perf_counter()], []

    def on_step():
        instants.append(time.perf_counter())
        cpu.append(time.process_time())

    generate(model, prompts, NEW_TOKENS, greedy, on_step)
    return dict(
        prefill=instants[1] - instants[0],
        decode=instants[-1] - instants[1],
        steps=[b - a for a, b in zip(instants[1:], instants[2:])],
        cpu=(cpu[-1] - cpu[0]) / (NEW_TOKENS - 1),
    )


def measure(model, prompts, flags) -> dict:
    """As measureDecode in measure.mjs."""
    greedy = flags.sampling == "greedy"
    generate(model, prompts, WARM_UP_TOKENS, greedy, lambda: None)
    rounds = [time_one(model, prompts, greedy) for _ in range(flags.repeats)]
    rates = [flags.batch * (NEW_TOKENS - 1) / r["decode"] for r in rounds]
    return dict(
        peer="pytorch",
        shape=flags.shape,
        threads=flags.threads,
        batch=flags.batch,
        precision=flags.precision,
        sampling=flags.sampling,
        tokensPerSecond=statistics.median(rates),
        tokensPerSecondBest=max(rates),
        stepMsMedian=1000 * statistics.median(step for r in rounds for step in r["steps"]),
        cpuMsPerStep=1000 * min(r["cpu"] for r in rounds),
        prefillTokensPerSecond=statistics.median(flags.batch * PROMPT_TOKENS / r["prefill"] for r in rounds),
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
    parser.add_argument("--implementation", default="plain", choices=["plain", "transformers"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(1)
    with torch.inference_mode():
        make = Decoder if flags.implementation == "plain" else TransformersDecoder
        model = make(f"{flags.model}/hf", flags.batch)
        with open(f"{flags.model}/hf/config.json") as file:
            vocab = json.load(file)["vocab_size"]
        prompts = torch.tensor(random_rows(flags.batch, PROMPT_TOKENS, vocab))
        if flags.check:
            print(json.dumps(dict(ids=generate(model, prompts, NEW_TOKENS, True, lambda: None).tolist())))
        else:
            print(json.dumps(measure(model, prompts, flags)))
