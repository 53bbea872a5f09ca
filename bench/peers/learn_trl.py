"""TRL's GRPOTrainer learns examples/additions; bench/learning/timeToResult.ts starts and ends it.

Prints a JSON line for the prompt of the first held-out row as the chat template writes it, for every step, and for every evaluation:
greedy answers to all held-out rows before the first step and after every few, as Turnwise evaluates.
Everything that is no flag is TRL's default: checkpointed layers, no reference model, the loss of DAPO.
`--score FILE` prints the rewards of recorded completions instead; JSON lines with `completion` and `answer`.
"""

import argparse
import json
import re
import tempfile
from pathlib import Path

from step_common import GROUP, LORA, StepClock

# White space of JavaScript, which is not that of Python.
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def reward_of(completion: str, answer: str) -> float:
    """The same as examples/additions/reward.js."""
    numbers = re.findall(r"-?[0-9]+", completion)
    if numbers[-1:] != [answer]:
        return 0.0
    words = re.split(f"[{SPACE}]+", re.sub(f"^[{SPACE}]+|[{SPACE}]+$", "", completion))
    return max(0.5, 1 - 0.05 * (len(words) - 1))


def tell(**event) -> None:
    print(json.dumps(event), flush=True)


def read_rows(file: str) -> list[dict]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def learn(flags: argparse.Namespace) -> None:
    import common  # noqa: F401  Says that nothing is fetched, before transformers is imported.
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(flags.threads)
    tokenizer = AutoTokenizer.from_pretrained(flags.model, padding_side="left")
    template = json.loads(flags.messages)
    rows = {name: read_rows(getattr(flags, name)) for name in ("train", "held_out")}
    messages = {
        name: [[{**each, "content": each["content"].format(**row)} for each in template] for row in own]
        for name, own in rows.items()
    }
    texts = [tokenizer.apply_chat_template(each, tokenize=False, add_generation_prompt=True) for each in messages["held_out"]]
    questions = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    rewards: list[float] = []

    def reward(completions, answer, **_):
        rewards[:] = [reward_of(own[0]["content"], each) for own, each in zip(completions, answer)]
        return list(rewards)

    def evaluate(model, step: int) -> None:
        """Greedy answers to the held-out rows."""
        model.eval()
        with torch.no_grad():
            ids = model.generate(**questions, do_sample=False, max_new_tokens=flags.new_tokens)
        model.train()
        answers = tokenizer.batch_decode(ids[:, questions["input_ids"].shape[1] :], skip_special_tokens=True)
        own = [reward_of(text, row["answer"]) for text, row in zip(answers, rows["held_out"])]
        tell(type="evaluation", step=step, reward=sum(own) / len(own))

    class Told(TrainerCallback):
        def on_train_begin(self, args, state, control, model, **_):
            tell(type="prompt", text=texts[0])
            evaluate(model, 0)

        def on_step_end(self, args, state, control, model, **_):
            clock.end_step()
            tell(type="step", step=state.global_step, reward=sum(rewards) / len(rewards), rollout=clock.rollouts[-1])
            if state.global_step % flags.evaluate_every == 0:
                evaluate(model, state.global_step)

    clock = StepClock(flags.new_tokens)
    with tempfile.TemporaryDirectory() as output:
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(flags.model, dtype=torch.float32),
            args=config_of(GRPOConfig, flags, output),
            reward_funcs=reward,
            train_dataset=Dataset.from_list(
                [{"prompt": own, "answer": row["answer"]} for own, row in zip(messages["train"], rows["train"])]
            ),
            processing_class=tokenizer,
            peft_config=LoraConfig(**LORA),
            callbacks=[Told()],
        )
        trainer._generate_single_turn = clock.timed(trainer._generate_single_turn)
        trainer.train()


def config_of(config, flags: argparse.Namespace, folder: str):
    return config(
        output_dir=folder,
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=flags.per_step * GROUP,
        num_generations=GROUP,
        max_completion_length=flags.new_tokens,
        temperature=1.0,
        learning_rate=flags.learning_rate,
        lr_scheduler_type="constant",
        max_steps=flags.steps,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        seed=flags.seed,
    )


def read_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--score")
    for name in ("--model", "--train", "--held-out", "--messages"):
        parser.add_argument(name)
    for name in ("--per-step", "--new-tokens", "--steps", "--evaluate-every", "--threads", "--seed"):
        parser.add_argument(name, type=int)
    parser.add_argument("--learning-rate", type=float)
    return parser.parse_args()


if __name__ == "__main__":
    flags = read_flags()
    if flags.score is None:
        learn(flags)
    else:
        tell(rewards=[reward_of(row["completion"], row["answer"]) for row in read_rows(flags.score)])
