"""The work of `turnwise bench` in plain PyTorch, on the same weights: needs torch alone.

A Llama or Qwen2 decoder with LoRA of rank 16 on all seven linears, written out here, since a bare machine has neither
transformers nor peft. Layers and head are checkpointed, as the device programs of Turnwise compute them again. Prints one line of JSON.
"""

import argparse
import json
import statistics
import struct
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

RANK, ALPHA, CHUNK = 16, 32, 512
LINEARS = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"]
LINEARS += ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]


def load_f32(path: Path) -> dict[str, torch.Tensor]:
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header, body = json.loads(raw[8 : 8 + size]), bytearray(raw[8 + size :])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", f"{name} is {entry['dtype']}: give a model in f32"
        start, end = entry["data_offsets"]
        flat = torch.frombuffer(body, dtype=torch.float32, count=(end - start) // 4, offset=start)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


class Decoder:
    def __init__(self, folder: str, device: str, dtype: torch.dtype):
        self.config = config = json.loads((Path(folder) / "config.json").read_text())
        assert config["model_type"] in ("llama", "qwen2"), f"{config['model_type']} is not written here"
        weights = load_f32(Path(folder) / "model.safetensors")
        self.w = {name: tensor.to(device=device, dtype=dtype) for name, tensor in weights.items()}
        self.device, self.dtype = device, dtype
        self.layers = config["num_hidden_layers"]
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.head_dim = config.get("head_dim") or config["hidden_size"] // self.heads
        tied = config.get("tie_word_embeddings", False)
        self.head = self.w["model.embed_tokens.weight" if tied else "lm_head.weight"]
        generator = torch.Generator().manual_seed(1)
        self.lora = {}
        for layer in range(self.layers):
            for linear in LINEARS:
                name = f"model.layers.{layer}.{linear}"
                outputs, inputs = self.w[f"{name}.weight"].shape
                a = torch.randn(RANK, inputs, generator=generator) / inputs**0.5
                pair = (a.to(device).requires_grad_(), torch.zeros(outputs, RANK, device=device, requires_grad=True))
                self.lora[name] = pair
        self.trained = [tensor for pair in self.lora.values() for tensor in pair]

    def linear(self, x, name):
        a, b = self.lora[name]
        y = F.linear(x, self.w[f"{name}.weight"], self.w.get(f"{name}.bias"))
        return y + F.linear(F.linear(x, a.to(x.dtype)), b.to(x.dtype)) * (ALPHA / RANK)

    def norm(self, x, name):
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"])
        return self.w[f"{name}.weight"] * scaled.to(x.dtype)

    def rotation(self, start, length):
        steps = torch.arange(0, self.head_dim, 2, device=self.device, dtype=torch.float32) / self.head_dim
        positions = torch.arange(start, start + length, device=self.device, dtype=torch.float32)
        angles = torch.outer(positions, self.config["rope_theta"] ** -steps)
        angles = torch.cat([angles, angles], -1)
        return angles.cos().to(self.dtype), angles.sin().to(self.dtype)

    def layer(self, x, index, rotation, cache):
        """x [B, T, D]; `cache` holds keys and values of the positions before and is added to; None while learning."""
        name = f"model.layers.{index}"
        rows, length, _ = x.shape
        cos, sin = rotation

        def split(y, count):
            return y.view(rows, length, count, self.head_dim).transpose(1, 2)

        def rotate(y):
            first, second = y.chunk(2, -1)
            return y * cos + torch.cat([-second, first], -1) * sin

        h = self.norm(x, f"{name}.input_layernorm")
        q = rotate(split(self.linear(h, f"{name}.self_attn.q_proj"), self.heads))
        k = rotate(split(self.linear(h, f"{name}.self_attn.k_proj"), self.kv_heads))
        v = split(self.linear(h, f"{name}.self_attn.v_proj"), self.kv_heads)
        if cache is not None:
            keys, values, filled = cache
            keys[index, :, :, filled : filled + length] = k
            values[index, :, :, filled : filled + length] = v
            k, v = keys[index, :, :, : filled + length], values[index, :, :, : filled + length]
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=True)
        x = x + self.linear(mixed.transpose(1, 2).reshape(rows, length, -1), f"{name}.self_attn.o_proj")
        h = self.norm(x, f"{name}.post_attention_layernorm")
        gated = F.silu(self.linear(h, f"{name}.mlp.gate_proj")) * self.linear(h, f"{name}.mlp.up_proj")
        return x + self.linear(gated, f"{name}.mlp.down_proj")

    def hidden(self, ids, cache=None, learning=False):
        rotation = self.rotation(0 if cache is None else cache[2], ids.shape[1])
        x = F.embedding(ids, self.w["model.embed_tokens.weight"])
        for index in range(self.layers):
            if learning:
                x = checkpoint(self.layer, x, index, rotation, cache, use_reentrant=False)
            else:
                x = self.layer(x, index, rotation, cache)
        return self.norm(x, "model.norm")

    def logprobs(self, ids, learning):
        """[B, T + 1] -> [B · T] of the next tokens, with the logits of so many tokens at once."""
        hidden = self.hidden(ids[:, :-1], learning=learning).flatten(0, 1)
        targets = ids[:, 1:].flatten()

        def chunk(h, t):
            logits = F.linear(h, self.head).float()
            return logits.gather(1, t[:, None])[:, 0] - logits.logsumexp(1)

        pieces = zip(hidden.split(CHUNK), targets.split(CHUNK))
        if learning:
            return torch.cat([checkpoint(chunk, h, t, use_reentrant=False) for h, t in pieces])
        return torch.cat([chunk(h, t) for h, t in pieces])

    def cache(self, rows, slots):
        shape = (self.layers, rows, self.kv_heads, slots, self.head_dim)
        return [torch.zeros(shape, device=self.device, dtype=self.dtype) for _ in range(2)]

    @torch.no_grad()
    def generate(self, ids, new_tokens, group=1):
        """Samples at temperature 1; the prompt of a group is read once."""
        rows, length = ids.shape
        keys, values = self.cache(rows, length + new_tokens)
        last = self.hidden(ids, (keys, values, 0))[:, -1]
        keys, values = (t.repeat_interleave(group, 1) for t in (keys, values))
        last, tokens = last.repeat_interleave(group, 0), []
        for filled in range(length, length + new_tokens):
            probabilities = F.linear(last, self.head).float().softmax(-1)
            noise = torch.empty_like(probabilities).exponential_()
            tokens.append((probabilities / noise).argmax(-1))
            if len(tokens) < new_tokens:
                last = self.hidden(tokens[-1][:, None], (keys, values, filled))[:, -1]
        return torch.stack(tokens, 1)


class Bench:
    def __init__(self, flags, dtype):
        self.flags = flags
        self.model = Decoder(flags.model, flags.device, dtype)
        self.optimizer = torch.optim.AdamW(self.model.trained, lr=1e-5)
        self.vocab = self.model.config["vocab_size"]

    def sync(self):
        if self.flags.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, work):
        """Median of the rounds after one that is not counted."""
        times = []
        for _ in range(self.flags.steps + 1):
            self.sync()
            start = time.perf_counter()
            work()
            self.sync()
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    def ids(self, rows, length):
        return torch.randint(self.vocab, (rows, length), device=self.flags.device)

    def update(self, ids, coefficients):
        (self.model.logprobs(ids, learning=True) * coefficients).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.model.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def peak(self):
        side = 4096 if self.flags.device == "cuda" else 512
        a = torch.full((side, side), 1 / side, device=self.flags.device, dtype=self.model.dtype)

        def chain():
            y = a
            for _ in range(8):
                y = y @ a

        return dict(gflops=16 * side**3 / self.seconds(chain) / 1e9)

    def train(self):
        rows, length = self.flags.rows, self.flags.length
        ids = self.ids(rows, length + 1)
        return dict(tokensPerSecond=rows * length / self.seconds(lambda: self.update(ids, -1 / (rows * length))))

    def prefill(self):
        ids = self.ids(2, min(512, self.model.config["max_position_embeddings"] - 1))
        return dict(tokensPerSecond=ids.numel() / self.seconds(lambda: self.model.generate(ids, 1)))

    def decode(self):
        figures = []
        for batch in self.flags.batch:
            ids = self.ids(batch, 64)
            reading = self.seconds(lambda: self.model.generate(ids, 1))
            whole = self.seconds(lambda: self.model.generate(ids, 65))
            figures.append(dict(batch=batch, tokensPerSecond=batch * 64 / (whole - reading)))
        return figures

    def step(self):
        prompts = self.ids(4, 64)

        def step():
            completions = self.model.generate(prompts, 64, group=8)
            ids = torch.cat([prompts.repeat_interleave(8, 0), completions], 1)
            rewards = (completions.sum(1) % 7 / 6).view(4, 8)
            deviation = rewards.std(1, keepdim=True) + 1e-4
            advantages = ((rewards - rewards.mean(1, keepdim=True)) / deviation).flatten()
            coefficients = torch.zeros(32, 127, device=ids.device)
            coefficients[:, 63:] = -advantages[:, None] / (32 * 64)
            self.update(ids, coefficients.flatten())

        return dict(seconds=self.seconds(step))

    @torch.no_grad()
    def logprobs(self):
        """For a comparison with Turnwise: [T] of the same ids, with the adapter that adds nothing."""
        ids = torch.tensor([[(7 * i * i + 3 * i) % 256 for i in range(33)]], device=self.flags.device)
        return self.model.logprobs(ids, learning=False).tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--dtype", choices=["f32", "tf32", "bf16"], default="bf16")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", default="peak,logprobs,prefill,decode,train,step")
    parser.add_argument("--batch", type=lambda given: [int(part) for part in given.split(",")], default=[1, 8, 16])
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3, help="measured rounds of each part")
    flags = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = flags.dtype == "tf32"  # otherwise f32 is f32 on both sides
    bench = Bench(flags, torch.bfloat16 if flags.dtype == "bf16" else torch.float32)
    card = torch.cuda.get_device_name() if flags.device == "cuda" else "CPU"
    report = dict(torch=torch.__version__, device=flags.device, card=card, dtype=flags.dtype)
    for part in flags.only.split(","):
        report[part] = getattr(bench, part)()
    if flags.device == "cuda":
        report["peakMemoryBytes"] = torch.cuda.max_memory_allocated()
    print(json.dumps(report))
