"""A whole GRPO step in TRL: its GRPOTrainer with transformers' generation, one update over all completions.

`--dtype bfloat16` holds the model in 16 bits and sets `bf16`. Everything else is TRL's default: checkpointed layers, no
reference model (beta 0), one update per generation, in which the log-probabilities of the old policy are the policy's own.
"""

import tempfile

from common import AnonymousPeak
from step_common import GROUP, LORA, StepClock, read_flags, read_prompts, reward_of

import torch
import trl
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class EndOfStep(TrainerCallback):
    def __init__(self, clock: StepClock):
        self.clock = clock

    def on_step_end(self, *_, **__):
        self.clock.end_step()


def config_of(flags, folder: str) -> GRPOConfig:
    return GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=flags.dtype == "bfloat16",
        per_device_train_batch_size=flags.per_step * GROUP,
        num_generations=GROUP,
        max_completion_length=flags.new_tokens,
        generation_kwargs={"min_new_tokens": flags.new_tokens},
        temperature=1.0,
        beta=0.0,
        learning_rate=1e-5,
        max_steps=flags.steps + 1,
        shuffle_dataset=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=1,
    )


def main(flags) -> None:
    torch.set_num_threads(flags.threads)
    folder = f"{flags.model}/hf"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, flags.dtype))
    # TRL asks every mixture of experts for its number of experts under this name, which Granite's config lacks.
    if hasattr(model.config, "num_local_experts") and not hasattr(model.config, "num_experts"):
        model.config.num_experts = model.config.num_local_experts
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompts = read_prompts(flags)
    clock = StepClock(flags.new_tokens)

    def reward(completion_ids, **_):
        clock.check(completion_ids)
        return [reward_of(ids) for ids in completion_ids]

    with tempfile.TemporaryDirectory() as output, AnonymousPeak() as anonymous:
        trainer = GRPOTrainer(
            model=model,
            args=config_of(flags, output),
            reward_funcs=reward,
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=tokenizer,
            peft_config=LoraConfig(**LORA),
            callbacks=[EndOfStep(clock)],
        )
        trainer._generate_single_turn = clock.timed(trainer._generate_single_turn)
        trainer.train()
    tokens = trainer.state.num_input_tokens_seen
    expected = (flags.steps + 1) * flags.per_step * GROUP * (len(prompts[0]) + flags.new_tokens)
    if tokens != expected:
        raise SystemExit(f"TRL counted {tokens} tokens; expected {expected}.")
    clock.report(flags, anonymous, torch=torch.__version__, trl=trl.__version__)


if __name__ == "__main__":
    main(read_flags(__doc__))
