"""Trains as manifest.yaml says: python train.py [--steps N] [--vllm] [--output DIR]

--steps  stop after N steps of the run instead of all of them
--vllm   generate with vLLM, which needs a GPU; otherwise with transformers
"""

import argparse
import json
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent


def read_rows(name):
    text = (HERE.parent / "data" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def answer_text(value):
    return value if isinstance(value, str) else "".join(message["content"] for message in value)


def load_agent(manifest, tokenizer, use_vllm):
    import torch
    from agilerl.algorithms.core import base
    from agilerl.builders.base import AlgorithmBuildRuntime
    from agilerl.builders.llm import LLMBuilder

    has_gpu = torch.cuda.is_available()
    if not has_gpu:
        # AgileRL replaces modules by Liger's wherever that is installed, and those need a GPU.
        base.HAS_LIGER_KERNEL = False
    return LLMBuilder.build(
        manifest.algorithm,
        tokenizer=tokenizer,
        runtime=AlgorithmBuildRuntime(index=0, device="cuda" if has_gpu else "cpu"),
        actor_network=starting_model(manifest),
        rollout_mode="colocated" if use_vllm else "",
    )


def starting_model(manifest):
    """The base with the adapter to go on from; None: a fresh adapter."""
    folder = HERE.parent / "adapter"
    if not folder.exists():
        return None
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    name = manifest.algorithm.pretrained_model_name_or_path
    base = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
    return PeftModel.from_pretrained(base, str(folder), adapter_name="actor", is_trainable=True)


def train_rollouts(agent, manifest, tokenizer, steps, output):
    from agilerl.llm_envs import RolloutHarness
    from agilerl.llm_envs.rubrics import reward_fn_to_rubric
    from agilerl.training.llm.completion_logging import CompletionLoggingConfig
    from agilerl.training.llm.rollout import train_llm_rollout

    sys.path.insert(0, str(HERE))
    from reward import reward_fn

    def asked(rows):
        return [{**row, "question": row["prompt_text"], "answer": row["row"]} for row in rows]

    train = asked(read_rows("train.jsonl"))
    evaluation = asked(read_rows("eval.jsonl")) if (HERE.parent / "data" / "eval.jsonl").exists() else None

    def make_environment():
        return RolloutHarness.from_dataset(
            train,
            reward_fn_to_rubric(reward_fn, "reward"),
            tokenizer,
            test_dataset=evaluation,
            prompt_builder=lambda row: row["question"],
            # The prompts are rendered already.
            apply_chat_template=False,
            max_model_len=manifest.algorithm.max_model_len,
        )

    algorithm, training = manifest.algorithm, manifest.training
    per_step = algorithm.batch_size * getattr(algorithm, "group_size", 1)
    return train_llm_rollout(
        pop=[agent],
        max_turns=1,
        env_factory=make_environment,
        max_steps=training.max_steps if steps is None else steps * per_step,
        evaluation_interval=training.evaluation_interval or sys.maxsize,
        eval_loop=training.eval_loop,
        completion_logging=CompletionLoggingConfig(
            interval=1,
            num_groups=algorithm.batch_size,
            max_chars=1_000_000,
            jsonl_path=str(output / "completions.jsonl"),
        ),
    )


def train_answers(agent, manifest, tokenizer, steps):
    from agilerl.llm_envs.dataset_env import DatasetEnv
    from agilerl.training.llm.dataset import train_llm_dataset
    from datasets import Dataset

    is_preference = manifest.environment.objective == "preference"

    def told(rows):
        names = ["chosen", "rejected"] if is_preference else ["completion"]
        columns = [{name: answer_text(row[name]) for name in names} for row in rows]
        return Dataset.from_list(
            [{"prompt": row["prompt_text"], **answers} for row, answers in zip(rows, columns, strict=True)]
        )

    algorithm, training = manifest.algorithm, manifest.training
    train = read_rows("train.jsonl")
    has_evaluation = (HERE.parent / "data" / "eval.jsonl").exists()
    environment = DatasetEnv(
        told(train),
        # A split with rows is demanded even where nothing is evaluated.
        told(read_rows("eval.jsonl") if has_evaluation else train[:1]),
        tokenizer,
        objective=manifest.environment.objective,
        response_column="completion",
        data_batch_size_per_gpu=algorithm.batch_size,
        max_context_length=algorithm.max_model_len,
        seed=algorithm.seed,
    )
    return train_llm_dataset(
        pop=[agent],
        env=environment,
        max_steps=training.max_steps if steps is None else steps * algorithm.batch_size,
        evaluation_interval=training.evaluation_interval or sys.maxsize,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--vllm", action="store_true")
    parser.add_argument("--output", type=Path, default=HERE / "output")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)

    from agilerl.arena.models import TrainingManifest
    from transformers import AutoTokenizer

    manifest = TrainingManifest.model_validate(
        yaml.safe_load((HERE / "manifest.yaml").read_text(encoding="utf-8"))
    )
    tokenizer = AutoTokenizer.from_pretrained(manifest.algorithm.pretrained_model_name_or_path)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    agent = load_agent(manifest, tokenizer, given.vllm)
    if manifest.environment.objective is None:
        train_rollouts(agent, manifest, tokenizer, given.steps, given.output)
    else:
        train_answers(agent, manifest, tokenizer, given.steps)
    agent.actor.save_pretrained(str(given.output / "adapter"), selected_adapters=["actor"])


if __name__ == "__main__":
    main()
