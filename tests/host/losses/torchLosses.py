"""Evaluates losses in PyTorch, in f64. Reads {"settings", "rows", "losses"} as JSON, writes a list of
{"value", "gradients"} with ∂value/∂head for every position of all rows, one after another."""
import json
import sys

import torch

given = json.load(sys.stdin)
rows = given["rows"]
torch.set_num_threads(1)


def number(x):
    return x.double() if isinstance(x, torch.Tensor) else torch.tensor(float(x), dtype=torch.float64)


def flat(name):
    return torch.tensor([x for row in rows for x in row[name]], dtype=torch.float64)


def per_row(name):
    return torch.tensor([float(row[name]) for row in rows], dtype=torch.float64)


# ---- which unit each value belongs to ----

sequence, turn, position, turn_sequence = [], [], [], []
for i, row in enumerate(rows):
    known, actions = {}, 0
    for is_action, turn_id in zip(row["mask"], row["turns"]):
        sequence.append(i)
        if not is_action:
            turn.append(-1)
            position.append(-1)
            continue
        if turn_id not in known:
            known[turn_id] = len(turn_sequence)
            turn_sequence.append(i)
        turn.append(known[turn_id])
        position.append(actions)
        actions += 1
names = sorted({row["groups"] for row in rows}, key=[row["groups"] for row in rows].index)
group = [names.index(row["groups"]) for row in rows]
counts = {
    "token": len(sequence), "turn": len(turn_sequence), "sequence": len(rows), "pair": len(rows) // 2,
    "group": len(names), "position": max(position) + 1, "batch": 1,
}


def units(fine, coarse):
    if fine == coarse:
        return list(range(counts[fine]))
    if coarse == "batch":
        return [0] * counts[fine]
    step = {
        ("token", "turn"): turn, ("token", "sequence"): sequence, ("token", "position"): position,
        ("token", "group"): [group[i] for i in sequence], ("turn", "sequence"): turn_sequence,
        ("turn", "group"): [group[i] for i in turn_sequence], ("sequence", "group"): group,
    }
    return step[fine, coarse]


def at(x, own, level):
    """One value of each coarser unit, repeated for the finer ones; 0 for those that belong to none."""
    if own == "batch":
        return x.reshape(()).expand(counts[level])
    of = units(level, own)
    picked = x[torch.tensor([max(u, 0) for u in of])]
    return torch.where(torch.tensor([u >= 0 for u in of]), picked, number(0))


def reduced(name, x, mask, level, over):
    of, x = units(level, over), x.reshape(-1)
    weights = torch.ones(len(of), dtype=torch.float64) if mask is None else mask.reshape(-1)
    results = []
    for unit in range(counts[over]):
        members = [i for i, u in enumerate(of) if u == unit and weights[i] != 0]
        if not members:
            results.append(number(0))
        elif name == "last":
            results.append(x[members[-1]])
        else:
            total = (x[members] * weights[members]).sum()
            count = weights[members].sum()
            results.append(total if name == "sum" else total / count if count != 0 else number(0))
    stacked = torch.stack(results)
    return stacked[0] if over == "batch" else stacked


def half(x, which):
    return x[which::2][: counts["pair"]]


def clip(x, low, high):
    return torch.minimum(torch.maximum(x, low), high)


exp, log, expm1, log1p, sqrt = torch.exp, torch.log, torch.expm1, torch.log1p, torch.sqrt
abs, square, sigmoid, tanh = torch.abs, torch.square, torch.sigmoid, torch.tanh
logSigmoid = torch.nn.functional.logsigmoid


def stopGradient(x):
    return x.detach()


heads = ("logp", "entropy", "values")
per_token = heads + (
    "oldLogp", "refLogp", "samplerLogp", "oldEntropy", "oldValues", "advantages", "returns", "correction", "mask", "turns",
)
settings = {name: number(value) for name, value in given["settings"].items()}
answers = []
for code in given["losses"]:
    inputs = {name: flat(name) for name in per_token}
    for name in ("groups", "rewards", "baseline", "truncated", "tokenLimit"):
        inputs[name] = per_row(name)
    outside = inputs["mask"] == 0
    for name in per_token:
        inputs[name] = torch.where(outside, number(0), inputs[name])
    for name in heads:
        inputs[name].requires_grad_()
    value = eval(code).reshape(())
    if value.requires_grad:
        value.backward()
    zeros = torch.zeros(counts["token"], dtype=torch.float64)
    gradients = {name: (zeros if inputs[name].grad is None else inputs[name].grad).tolist() for name in heads}
    answers.append({"value": value.item(), "gradients": gradients})
json.dump(answers, sys.stdout)
