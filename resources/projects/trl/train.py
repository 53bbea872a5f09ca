"""Trains as config.yaml says: accelerate launch --config_file accelerate.yaml train.py [--name value ...]

Any value of config.yaml can be changed on the command line, such as --max_steps 2 or --model_name_or_path DIR.
"""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("rewards", "watching")]

import callback  # noqa: E402
import watch as watching  # noqa: E402


@dataclass
class ProjectArguments:
    """What config.yaml says to this script alone; paths are relative to this folder."""

    trainer: str = ""
    train_file: str = ""
    eval_file: str | None = None
    starting_adapter: str | None = None
    prompts_are_marked_up: bool = False
    trajectories_per_update: int = 0
    reward_names: list[str] | None = None
    overlong_buffer: int = 0
    overlong_penalty: float = 0.0


def command_line(watched):
    """The given words behind those of config.yaml, batches divided among the processes."""
    given = sys.argv[1:]
    config = yaml.safe_load((HERE / "config.yaml").read_text(encoding="utf-8"))
    words = ["--config", str(HERE / "config.yaml")]
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1 and "--gradient_accumulation_steps" not in given:
        total = config["trajectories_per_update"]
        if total % world != 0:
            sys.exit(f"{total} trajectories per update cannot be divided among {world} processes: start fewer.")
        own = total // world
        size = max(d for d in range(1, config["per_device_train_batch_size"] + 1) if own % d == 0)
        words += ["--per_device_train_batch_size", str(size), "--gradient_accumulation_steps", str(own // size)]
    return words + watched + given


def load_rows(name):
    from datasets import Dataset

    text = (HERE / name).read_text(encoding="utf-8")
    return Dataset.from_list([json.loads(line) for line in text.split("\n") if line.strip()])


def check_prompts(rows, tokenizer, is_marked_up):
    """The same tokens as in the run, or training here would be something else."""
    for number, row in enumerate(rows, start=1):
        wanted = tokenizer(row["prompt_text"], add_special_tokens=not is_marked_up)["input_ids"]
        if isinstance(row["prompt"], str):
            ids = tokenizer(row["prompt"])["input_ids"]
        else:
            rendered = tokenizer.apply_chat_template(
                row["prompt"], add_generation_prompt=True, tokenize=True, return_dict=True
            )
            ids = rendered["input_ids"]
        if list(ids) != list(wanted):
            sys.exit(
                f"Row {number}: this tokenizer makes other tokens of the prompt than the run did. "
                "Use the model folder of the run, with its tokenizer and chat template."
            )


def starting_model(model_arguments, adapter):
    """The base by name, for a fresh adapter; or the base with the adapter to go on from."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    from trl import get_peft_config

    if adapter is None:
        return model_arguments.model_name_or_path, get_peft_config(model_arguments)
    base = AutoModelForCausalLM.from_pretrained(model_arguments.model_name_or_path, dtype=model_arguments.dtype)
    return PeftModel.from_pretrained(base, str((HERE / adapter).resolve()), is_trainable=True), None


def rewards_of(project, training):
    """Functions that ask the run's own reward code, their weights in `training`."""
    from bridge import trl_reward_functions
    from trl.rewards import get_soft_overlong_punishment

    functions, weights = trl_reward_functions()
    if weights != training.reward_weights:
        sys.exit("reward_weights in config.yaml are not those of rewards/rewards.json.")
    if project.overlong_buffer > 0:
        functions.append(
            get_soft_overlong_punishment(training.max_completion_length, project.overlong_buffer)
        )
        training.reward_weights = [*training.reward_weights, project.overlong_penalty]
    return functions


def main():
    watch = watching.open_watch(HERE)
    import trl
    from transformers import AutoTokenizer
    from trl import ModelConfig, TrlParser

    watching.refuse_model_code()
    trainer_name = yaml.safe_load((HERE / "config.yaml").read_text(encoding="utf-8"))["trainer"].upper()
    arguments_class = getattr(trl, f"{trainer_name}Config")
    parser = TrlParser((ProjectArguments, arguments_class, ModelConfig))
    project, training, model_arguments = parser.parse_args_and_config(args=command_line(watch.arguments))
    training.output_dir = str(watch.output if watch.is_active else HERE / training.output_dir)

    tokenizer = AutoTokenizer.from_pretrained(model_arguments.model_name_or_path)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    train_rows = load_rows(project.train_file)
    eval_rows = load_rows(project.eval_file) if project.eval_file and training.eval_strategy != "no" else None
    check_prompts(train_rows, tokenizer, project.prompts_are_marked_up)

    model, peft_config = starting_model(model_arguments, project.starting_adapter)
    if isinstance(model, str):
        training.model_init_kwargs = {"dtype": model_arguments.dtype}
    extra = {}
    if trainer_name in ("GRPO", "RLOO"):
        extra["reward_funcs"] = rewards_of(project, training)
    else:
        keep = ["prompt", "completion"] if trainer_name == "SFT" else ["prompt", "chosen", "rejected"]
        train_rows = train_rows.select_columns(keep)
        eval_rows = eval_rows.select_columns(keep) if eval_rows is not None else None

    trainer = callback.recorded(getattr(trl, f"{trainer_name}Trainer"), watch, project.reward_names or [])(
        model=model,
        args=training,
        train_dataset=train_rows,
        eval_dataset=eval_rows,
        processing_class=tokenizer,
        peft_config=peft_config,
        **extra,
    )
    start = training.resume_from_checkpoint
    trainer.train(resume_from_checkpoint=start and str((HERE / start).resolve()))
    if not watch.is_active:
        trainer.save_model(str(Path(training.output_dir) / "adapter"))


if __name__ == "__main__":
    main()
