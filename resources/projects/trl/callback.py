"""What a trainer of TRL does, said to Turnwise where it watches, by a callback of the trainer: watching/recording.py has the
words.
"""

import math
import sys
import time
from pathlib import Path

from recording import PROBED, places_shown, probe_of, sample_of, say_engine, say_saved, spread
from watch import writing


def recorded(trainer_class, watch, reward_names):
    """The trainer with its events written down; the class itself where nobody watches."""
    if not watch.is_active:
        return trainer_class

    class Recorded(trainer_class):
        def __init__(self, *args, **kwargs):
            # What is seen of the completions of a step; empty where none are generated.
            self.seen = {}
            self.times = {"time/rollout": 0.0, "time/reward": 0.0}
            super().__init__(*args, **kwargs)
            self.add_callback(recording_callback(self, watch, reward_names))

        def _generate(self, *args, **kwargs):
            return timed(self.times, "time/rollout", super()._generate, *args, **kwargs)

        def _calculate_rewards(self, *args, **kwargs):
            return timed(self.times, "time/reward", super()._calculate_rewards, *args, **kwargs)

        def _save_checkpoint(self, *args, **kwargs):
            with writing(Path(self.args.output_dir).resolve() / f"checkpoint-{self.state.global_step}"):
                super()._save_checkpoint(*args, **kwargs)

        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            self.seen = look_at(self, inputs, output, watch.shown)
            return output

    return Recorded


def timed(times, name, function, *args, **kwargs):
    began = time.perf_counter()
    try:
        return function(*args, **kwargs)
    finally:
        times[name] += time.perf_counter() - began


def look_at(trainer, inputs, output, shown):
    """Whole groups of this process's completions, spread over the batch, and what the trainer knows of their tokens. Every
    process looks at as many, since a forward pass may need all of them."""
    places = places_shown(len(inputs), trainer.num_generations, shown)
    logs = trainer._logs
    picked = {name: value[places] for name, value in output.items() if is_per_completion(value, len(inputs))}
    logprobs, entropies = heads(trainer, picked, with_entropies=True)
    return {
        "rows": [inputs[i] for i in places],
        # Those of the first process come first.
        "completions": [list(logs["completion"])[i] for i in places],
        "rewards": {name: [list(values)[i] for i in places] for name, values in logs["rewards"].items()},
        "all_rewards": {name: list(values) for name, values in logs["rewards"].items()},
        "tensors": picked,
        "logprobs": logprobs,
        "entropies": entropies,
    }


def is_per_completion(value, count):
    return hasattr(value, "shape") and len(value.shape) > 0 and value.shape[0] == count


def heads(trainer, tensors, with_entropies=False):
    """Log-probabilities and entropies of the completions under the policy as it is now, at the temperature of the run."""
    import torch

    ids = torch.cat([tensors["prompt_ids"], tensors["completion_ids"]], dim=1)
    mask = torch.cat([tensors["prompt_mask"], tensors["completion_mask"]], dim=1)
    was_training = trainer.model.training
    trainer.model.eval()
    try:
        with torch.no_grad():
            logprobs, entropies, *_ = trainer._get_per_token_logps_and_entropies(
                trainer.model,
                ids,
                mask,
                tensors["completion_ids"].size(1),
                batch_size=trainer.args.per_device_train_batch_size,
                compute_entropy=with_entropies,
            )
    finally:
        trainer.model.train(was_training)
    return logprobs, entropies


def token_lists(tensors, i):
    """Prompt and completion as ids without padding, and how many of the completion's places are real."""
    prompt = tensors["prompt_ids"][i][tensors["prompt_mask"][i].bool()].tolist()
    # A truncated completion that is masked out fills its whole row.
    count = int(tensors["completion_mask"][i].sum()) or tensors["completion_ids"].size(1)
    return prompt, tensors["completion_ids"][i][:count].tolist()


def sample(trainer, seen, i, parts, weights):
    from bridge import completion_text

    tensors = seen["tensors"]
    prompt, completion = token_lists(tensors, i)

    def of_completion(values):
        return None if values is None else values[i][: len(completion)].tolist()

    return sample_of(
        row=seen["rows"][i],
        text=completion_text(seen["completions"][i]),
        parts=parts,
        weights=weights,
        tokens=(prompt, completion),
        is_ended=completion[-1] in trainer.eos_token_ids,
        advantage=advantage_of(tensors, i),
        arrays={
            "logprobs": of_completion(seen["logprobs"]),
            "behaviorLogprobs": of_completion(tensors.get("sampling_per_token_logps")),
            "referenceLogprobs": of_completion(tensors.get("ref_per_token_logps")),
            "entropies": of_completion(seen["entropies"]),
        },
    )


def advantage_of(tensors, i):
    """One number for all tokens, also where the trainer keeps one for each."""
    own = tensors["advantages"][i]
    return float(own) if own.dim() == 0 else float(own[0])


def number(value):
    return None if value is None or math.isnan(value) else float(value)


def samples_of(trainer, seen, reward_names, count):
    names = renamed(trainer, reward_names)
    weights = trainer.args.reward_weights

    def parts(i):
        return {names[name]: number(values[i]) for name, values in seen["rewards"].items()}

    return [sample(trainer, seen, i, parts(i), weights) for i in range(min(count, len(seen["rows"])))]


def renamed(trainer, reward_names):
    """The trainer's names of its reward functions, and the run's: the trainer has more where it punishes length itself."""
    own = trainer.reward_func_names
    return dict(zip(own, [*reward_names, *own[len(reward_names) :]], strict=True))


def totals(trainer, seen):
    """The reward of every completion of the step."""
    import numpy

    parts = numpy.array(list(seen["all_rewards"].values()), dtype=float)
    return numpy.nansum(parts * numpy.array(trainer.args.reward_weights)[:, None], axis=0)


def recording_callback(trainer, watch, reward_names):
    from accelerate.utils import gather_object
    from transformers import TrainerCallback

    generates = hasattr(trainer, "reward_funcs")

    def step_of(state):
        return state.global_step // watch.updates_per_step

    def is_whole(state):
        return state.global_step % watch.updates_per_step == 0

    class Recording(TrainerCallback):
        def __init__(self):
            self.logged = []
            self.began = 0.0
            self.tokens = 0

        def on_train_begin(self, args, state, control, **_):
            self.began = time.perf_counter()
            processes, device = trainer.accelerator.num_processes, str(trainer.accelerator.device.type)
            packages = ("trl", "transformers", "peft", "accelerate", "torch")
            say_engine(watch, step_of(state), processes, device, packages)

        def on_step_end(self, args, state, control, **_):
            if not is_whole(state):
                return
            step = step_of(state)
            # One process may hear of it sooner than the others.
            is_stopped = any(gather_object([watch.is_stop_wanted()])) or step == watch.until
            if is_stopped or watch.is_save_due(step) or state.global_step >= state.max_steps:
                control.should_save = True
            if is_stopped:
                control.should_training_stop = True

        def on_log(self, args, state, control, logs=None, **_):
            if not logs or "train_runtime" in logs:
                return
            self.logged.append(logs)
            if is_whole(state):
                self.say_step(state)

        def say_step(self, state):
            metrics = averaged(self.logged)
            self.tokens = int(metrics.get("num_tokens", self.tokens))
            if generates:
                names = renamed(trainer, reward_names)
                metrics = {rename_metric(name, names): value for name, value in metrics.items()}
                metrics.update(spread(totals(trainer, trainer.seen), trainer.num_generations))
                metrics.update(trainer.times)
            took = time.perf_counter() - self.began
            metrics["step_time"] = took
            if generates:
                metrics["time/update"] = max(0.0, took - sum(trainer.times.values()))
            step = step_of(state)
            watch.say("step", step=step, steps=watch.steps, metrics=metrics)
            if generates and watch.shown > 0:
                samples = samples_of(trainer, trainer.seen, reward_names, watch.shown)
                watch.say("samples", step=step, source="rollout", samples=samples)
            self.logged = []
            trainer.times.update({name: 0.0 for name in trainer.times})
            self.began = time.perf_counter()

        def on_save(self, args, state, control, **_):
            probe = self.probe() if generates and trainer.seen else []
            # Every process has written its part when this is said.
            trainer.accelerator.wait_for_everyone()
            say_saved(watch, step_of(state), state.global_step, self.tokens, probe)
            self.began = time.perf_counter()

        def probe(self):
            tensors = {name: value[:PROBED] for name, value in trainer.seen["tensors"].items()}
            logprobs, _ = heads(trainer, tensors)
            lists = [token_lists(tensors, i) for i in range(len(tensors["prompt_ids"]))]
            return [
                probe_of(prompt, completion, logprobs[i][: len(completion)].tolist())
                for i, (prompt, completion) in enumerate(lists)
            ]

    return Recording()


def averaged(logs):
    """Of several updates of a step: means, but the last of what counts up."""
    last = logs[-1]
    counting = ("num_tokens", "epoch", "learning_rate")

    def of(name):
        values = [each[name] for each in logs if isinstance(each.get(name), (int, float))]
        return values[-1] if name in counting else sum(values) / len(values)

    numbers = {name: of(name) for name in last if isinstance(last[name], (int, float))}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def rename_metric(name, names):
    head, _, rest = name.partition("/")
    function, _, kind = rest.rpartition("/")
    return f"{head}/{names[function]}/{kind}" if head == "rewards" and function in names else name


if __name__ == "__main__":
    sys.exit("train.py uses this file.")
