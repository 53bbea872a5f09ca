"""
Heads and adapter gradients of a model whose tensors lie in another file, by transformers and autograd in float64, each sequence
alone. Reads one JSON object on standard input, writes one on standard output.
"""

import json
import sys
import warnings

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D


def load(folder, weights):
    """The architecture of a folder with the weights of a file, in which every matrix is [out, in] and none is tied."""
    config = AutoConfig.from_pretrained(folder)
    config.tie_word_embeddings = False
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    turned = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, Conv1D)}
    stored = load_file(weights)
    # GPT-2's names are stored with or without what they begin with.
    expected = {name.removeprefix("transformer."): name for name, _ in model.named_parameters()}
    tensors = {expected[name.removeprefix("transformer.")]: value for name, value in stored.items()}
    tensors = {name: value.T.contiguous() if name in turned else value for name, value in tensors.items()}
    missing = set(expected.values()) ^ set(tensors)
    if missing:
        raise SystemExit(f"Only one side has {sorted(missing)}.")
    model.load_state_dict(tensors, strict=False)
    return model.double().eval(), turned


def main():
    given = json.load(sys.stdin)
    warnings.filterwarnings("ignore")
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    model, turned = load(given["folder"], given["weights"])
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    factors = {
        each["name"]: torch.tensor(each["data"], dtype=torch.float64).reshape(each["shape"]).requires_grad_()
        for each in given["adapter"]
    }
    rows = []
    for ids, logprobs, entropies in zip(given["sequences"], given["logprobs"], given["entropies"]):
        changed = dict(parameters)
        for name, a in factors.items():
            if not name.endswith(".lora_A"):
                continue
            weight = name.replace(".lora_A", ".weight")
            change = given["scale"] * factors[name.replace(".lora_A", ".lora_B")] @ a
            changed[weight] = parameters[weight] + (change.T if weight in turned else change)
        call = {"input_ids": torch.tensor([ids]), "use_cache": False}
        logits = torch.func.functional_call(model, changed, kwargs=call).logits[0, :-1] / given["temperature"]
        all_logprobs = torch.log_softmax(logits, dim=-1)
        chosen = all_logprobs.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        entropy = -(all_logprobs.exp() * all_logprobs).sum(-1)
        weights = [torch.tensor(each, dtype=torch.float64) for each in (logprobs, entropies)]
        ((weights[0] * chosen).sum() + (weights[1] * entropy).sum()).backward()
        rows.append({"logprobs": chosen.tolist(), "entropies": entropy.tolist()})
    gradients = {name: value.grad.flatten().tolist() for name, value in factors.items()}
    json.dump({"rows": rows, "gradients": gradients}, sys.stdout)


if __name__ == "__main__":
    main()
