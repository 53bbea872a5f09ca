"""A whole GRPO step in AgileRL: get_action of its GRPO agent, which generates with transformers, then learn.

Settings are AgileRL's own (checkpointed layers among them) but for those that make the work the same: no KL term, every
token as likely as the model says, all completions in one micro-batch and one update.
"""

from importlib.metadata import version

from common import AnonymousPeak
from step_common import GROUP, LORA, StepClock, read_flags, read_prompts, reward_of

import agilerl

agilerl.HAS_LIGER_KERNEL = False  # its kernels are Triton's and need a GPU; AgileRL has its own path without them

import torch
from agilerl.algorithms import GRPO
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer


def make_agent(flags, folder: str, tokenizer, prompt_tokens: int) -> GRPO:
    rows = flags.per_step * GROUP
    return GRPO(
        pad_token_id=tokenizer.pad_token_id,
        pad_token=tokenizer.pad_token,
        actor_network=AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, flags.dtype)),
        batch_size=flags.per_step,
        group_size=GROUP,
        micro_batch_size_per_gpu=rows,
        mini_batch_size=rows,
        beta=0.0,
        lr=1e-5,
        max_grad_norm=1.0,
        temperature=1.0,
        top_k=0,
        max_output_tokens=flags.new_tokens,
        min_output_tokens=flags.new_tokens,
        max_model_len=prompt_tokens + flags.new_tokens,
        lora_config=LoraConfig(**LORA),
        use_separate_reference_adapter=False,
        device="cpu",
        seed=1,
    )


def completions_of(token_ids: list[torch.Tensor], masks: list[torch.Tensor]) -> list[list[int]]:
    """The tokens that are learned from; a mask begins with the second token."""
    rows = [(ids[1:], mask) for group in zip(token_ids, masks) for ids, mask in zip(*group)]
    return [ids[mask.bool()].tolist() for ids, mask in rows]


def main(flags) -> None:
    torch.set_num_threads(flags.threads)
    folder = f"{flags.model}/hf"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompts = [tokenizer(prompt, return_tensors="pt") for prompt in read_prompts(flags)]
    agent = make_agent(flags, folder, tokenizer, prompts[0]["input_ids"].shape[1])
    updates = count_updates(agent)
    clock = StepClock(flags.new_tokens)
    act = clock.timed(agent.get_action)
    with AnonymousPeak() as anonymous:
        for start in range(0, len(prompts), flags.per_step):
            batch = [dict(prompt) for prompt in prompts[start : start + flags.per_step]]
            token_ids, masks, *_ = act(batch)
            completions = completions_of(token_ids, masks)
            clock.check(completions)
            rewards = torch.tensor([reward_of(ids) for ids in completions]).view(flags.per_step, GROUP)
            agent.learn((token_ids, masks, rewards))
            clock.end_step()
    if len(updates) != flags.steps + 1:
        raise SystemExit(f"{len(updates)} updates in {flags.steps + 1} steps.")
    clock.report(flags, anonymous, torch=torch.__version__, agilerl=version("agilerl"))


def count_updates(agent: GRPO) -> list[None]:
    """Grows by one with every step of the optimizer."""
    updates: list[None] = []
    agent.optimizer.optimizer.register_step_post_hook(lambda *_: updates.append(None))
    return updates


if __name__ == "__main__":
    main(read_flags(__doc__))
