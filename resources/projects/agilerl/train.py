"""Trains as manifest.yaml says: python train.py [--steps N] [--vllm] [--cpu] [--model DIR] [--output DIR]

--steps  stop after N steps of the run instead of all of them
--vllm   generate with vLLM, which needs a GPU; otherwise with transformers
--cpu    keep off GPUs
--model  the same model at another place, or its name on the hub

Several processes: torchrun --nproc_per_node N train.py; their batches are divided.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ADAPTER = HERE.parent / "adapter"
sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("rewards", "watching"))]

import watch as watching  # noqa: E402


def read_rows(name):
    text = (HERE.parent / "data" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def answer_text(value):
    return value if isinstance(value, str) else "".join(message["content"] for message in value)


def load_agent(manifest, tokenizer, use_vllm, keeps_off_gpus):
    import torch
    from agilerl.algorithms.core import base
    from agilerl.builders.base import AlgorithmBuildRuntime
    from agilerl.builders.llm import LLMBuilder

    has_gpu = torch.cuda.is_available() and not keeps_off_gpus
    if not has_gpu:
        # AgileRL replaces modules by Liger's wherever that is installed, and those need a GPU.
        base.HAS_LIGER_KERNEL = False

    place = os.environ.get("LOCAL_RANK", "0")

    class Builder(LLMBuilder):
        @staticmethod
        def _model_config_with_family_defaults(spec, kwargs):
            # As in the run; AgileRL would load the base in bfloat16, and no setting of a manifest says otherwise.
            own = LLMBuilder._model_config_with_family_defaults(spec, kwargs)
            return {**own, "torch_dtype": torch.float32}

    agent = Builder.build(
        manifest.algorithm,
        tokenizer=tokenizer,
        runtime=AlgorithmBuildRuntime(index=0, device=f"cuda:{place}" if has_gpu else "cpu"),
        rollout_mode="colocated" if use_vllm else "",
    )
    begin_from_adapter(agent)
    return agent


def divide_batches(algorithm):
    """manifest.yaml has the updates of the run; AgileRL wants those of one process."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return
    total = algorithm.mini_batch_size
    if algorithm.batch_size % world != 0 or total % world != 0:
        sys.exit(
            f"turnwise: {algorithm.batch_size} prompts per step and {total} trajectories per update cannot be divided "
            f"among {world} processes: start fewer."
        )
    algorithm.mini_batch_size = total // world
    largest = min(algorithm.micro_batch_size_per_gpu, algorithm.mini_batch_size)
    algorithm.micro_batch_size_per_gpu = max(
        size for size in range(1, largest + 1) if algorithm.mini_batch_size % size == 0
    )


def shape_of_adapter():
    """Settings of the adapter to go on from; empty: a fresh one."""
    if not ADAPTER.exists():
        return {}
    config = json.loads((ADAPTER / "adapter_config.json").read_text(encoding="utf-8"))
    return {
        "lora_r": config["r"],
        **{name: config[name] for name in ("lora_alpha", "lora_dropout", "target_modules")},
    }


def begin_from_adapter(agent):
    """Puts the adapter where a checkpoint of AgileRL has it; the reference is then the same."""
    if not ADAPTER.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ADAPTER, Path(folder) / "actor")
        agent._load_model_checkpoint(folder)


def train_rollouts(agent, manifest, tokenizer, steps, output):
    from agilerl.llm_envs import RolloutHarness
    from agilerl.llm_envs.rubrics import reward_fn_to_rubric
    from agilerl.training.llm.completion_logging import CompletionLoggingConfig
    from agilerl.training.llm.rollout import train_llm_rollout

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


def train_watched(agent, tokenizer, watch, resume_from):
    from loop import Loop
    from transformers.utils import logging

    # A sentence for every prompt otherwise.
    logging.set_verbosity_error()
    Loop(agent, tokenizer, read_rows("train.jsonl"), watch).train(resume_from)


def main():
    watch = watching.open_watch(HERE)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--vllm", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--output", type=Path, default=HERE / "output")
    # Turnwise's own, of the loop that it watches.
    parser.add_argument("--resume_from_checkpoint", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args([*watch.arguments, *sys.argv[1:]])
    given.output.mkdir(parents=True, exist_ok=True)

    from agilerl.arena.models import TrainingManifest
    from transformers import AutoTokenizer

    watching.refuse_model_code()
    said = yaml.safe_load((HERE / "manifest.yaml").read_text(encoding="utf-8"))
    if given.model is not None:
        said["network"]["pretrained_model_name_or_path"] = given.model
    said["network"]["lora_config"].update(shape_of_adapter())
    manifest = TrainingManifest.model_validate(said)
    tokenizer = AutoTokenizer.from_pretrained(manifest.algorithm.pretrained_model_name_or_path)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if manifest.environment.objective is None:
        divide_batches(manifest.algorithm)
    agent = load_agent(manifest, tokenizer, given.vllm, given.cpu)
    if watch.is_active:
        start = given.resume_from_checkpoint
        train_watched(agent, tokenizer, watch, start and (HERE / start).resolve())
        return
    if manifest.environment.objective is None:
        train_rollouts(agent, manifest, tokenizer, given.steps, given.output)
    else:
        train_answers(agent, manifest, tokenizer, given.steps)
    agent.actor.save_pretrained(str(given.output / "adapter"), selected_adapters=["actor"])


if __name__ == "__main__":
    main()
