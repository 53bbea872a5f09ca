"""Trains an agent of AgileRL step by step where Turnwise watches: AgileRL's own loop says nothing while it runs and always
begins at step 0. Each step is get_action, the rewards, and learn; watching/recording.py has the words for what is told of it.
"""

import math
import random
import sys
import time

from recording import PROBED, places_shown, probe_of, sample_of, say_engine, say_saved, spread, total_of
from watch import gathered, writing

# What learn() returns, and what Turnwise calls it.
LEARNED = {
    "loss": "loss",
    "pg_loss": "policy_loss",
    "vf_loss": "value_loss",
    "grad_norm_pre": "grad_norm",
    "critic_grad_norm_pre": "grad_norm/critic",
    # Of the tokens that were drawn, so an estimate.
    "entropy": "entropy",
    "is_frac_clip_neg": "clip_ratio/low_mean",
    "is_frac_clip_pos": "clip_ratio/high_mean",
}


class Loop:
    def __init__(self, agent, tokenizer, rows, watch):
        from agilerl.distributed import get_rank, get_world_size
        from bridge import SETTINGS

        self.agent, self.tokenizer, self.rows, self.watch = agent, tokenizer, rows, watch
        self.rank, self.world = get_rank(), get_world_size()
        self.group = getattr(agent, "group_size", 1)
        ends = agent.actor.generation_config.eos_token_id
        self.ends = set(ends if isinstance(ends, list) else [ends])
        self.weights = [part["weight"] for part in SETTINGS["rewards"]]
        self.step = 0
        self.tokens = 0

    def train(self, resume_from):
        if resume_from is not None:
            self.restore(resume_from)
        packages = ("agilerl", "transformers", "peft", "accelerate", "torch")
        device = str(self.agent.device).partition(":")[0]
        say_engine(self.watch, self.step, self.world, device, packages)
        while self.step < self.watch.steps:
            seen = self.take_step()
            self.step += 1
            # One process may hear of it sooner than the others.
            is_stopped = any(gathered([self.watch.is_stop_wanted()])) or self.step == self.watch.until
            if is_stopped or self.watch.is_save_due(self.step) or self.step == self.watch.steps:
                self.save(seen)
            if is_stopped:
                return

    def take_step(self):
        """The completions that are shown of the step."""
        times = [time.perf_counter()]
        completions = self.roll_out()
        times.append(time.perf_counter())
        self.score(completions)
        times.append(time.perf_counter())
        batch = self.batch_of(completions)
        for each, advantage in zip(completions, self.advantages(batch), strict=True):
            each["advantage"] = advantage
        seen = [completions[i] for i in places_shown(len(completions), self.group, self.watch.shown)]
        looked = self.look_at(seen) if self.watch.shown > 0 else None
        metrics = self.learn(batch)
        times.append(time.perf_counter())

        metrics.update(self.completion_metrics(gathered([self.facts(each) for each in completions])))
        metrics["epoch"] = (self.step + 1) * self.agent.batch_size / len(self.rows)
        for name, began, ended in zip(("rollout", "reward", "update"), times, times[1:], strict=False):
            metrics[f"time/{name}"] = ended - began
        metrics["step_time"] = times[-1] - times[0]
        finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
        self.watch.say("step", step=self.step + 1, steps=self.watch.steps, metrics=finite)
        if looked is not None:
            samples = [self.sample(each, i, looked) for i, each in enumerate(seen[: self.watch.shown])]
            self.watch.say("samples", step=self.step + 1, source="rollout", samples=samples)
        return seen

    def batch_of(self, completions):
        from agilerl.rollouts.on_policy import collate_llm_rollouts

        return collate_llm_rollouts(
            [each["tensor"] for each in completions],
            [each["mask"] for each in completions],
            [each["turns"] for each in completions],
            # AgileRL cannot leave a completion out.
            [each["tensor"].new_tensor([each["total"] or 0.0], dtype=float) for each in completions],
            group_size=self.group,
        )

    def learn(self, batch):
        """Metrics of the update, means over the processes."""
        from agilerl.distributed import aggregate_metrics_dict

        rate = self.agent.current_lr
        self.agent.init_training_step()
        experiences, turns = self.aligned(batch)
        learned = self.agent.learn(experiences, turn_ids=turns)
        self.agent.finalize_training_step(len(batch))
        self.agent.metrics.clear()
        return self.learned_metrics(aggregate_metrics_dict(learned), rate)

    def aligned(self, batch):
        """Experiences and turns as learn() wants them: some losses need the same width in every process."""
        import torch
        from agilerl.utils import llm_utils

        experiences, turns = batch.experiences(), batch.turn_ids
        if llm_utils.needs_cross_rank_seq_padding(self.agent, world_size=self.world):
            align = llm_utils.align_completion_batch_shapes_across_ranks
            experiences = align(*experiences, pad_token_id=self.agent.pad_token_id)
            missing = experiences[1].shape[1] - turns.shape[1]
            turns = torch.nn.functional.pad(turns, (0, missing), value=-1)
        return experiences, turns

    def roll_out(self):
        """This process's completions, those of a prompt together."""
        import torch

        rows = self.rows_of_step()
        prompts = [{"input_ids": torch.tensor([self.prompt_ids(row)])} for row in rows]
        actions = self.agent.get_action(prompts, training=True).token_ids
        found = []
        for row, prompt, action in zip(rows, prompts, actions, strict=True):
            length = prompt["input_ids"].shape[1]
            for ids in action.cpu():
                end = next((i + 1 for i in range(length, len(ids)) if int(ids[i]) in self.ends), len(ids))
                mask = torch.arange(1, end)[None] >= length
                found.append(
                    {
                        "row": row,
                        "prompt": ids[:length].tolist(),
                        "completion": ids[length:end].tolist(),
                        "tensor": ids[None, :end],
                        "mask": mask,
                        "turns": mask.long() - 1,
                    }
                )
        return found

    def rows_of_step(self):
        """Each pass over the rows has an order of its own, which follows from the seed."""
        count = self.agent.batch_size
        share = count // self.world
        first = self.step * count + self.rank * share
        total = len(self.rows)
        return [self.rows[self.order(i // total)[i % total]] for i in range(first, first + share)]

    def order(self, epoch):
        import torch

        generator = torch.Generator().manual_seed(self.agent.seed + 1_000_003 * epoch)
        return torch.randperm(len(self.rows), generator=generator).tolist()

    def prompt_ids(self, row):
        # Rendered messages have their special tokens.
        is_plain = isinstance(row["prompt"], str)
        return self.tokenizer(row["prompt_text"], add_special_tokens=is_plain)["input_ids"]

    def score(self, completions):
        from bridge import score

        for each in completions:
            each["text"] = self.tokenizer.decode(each["completion"], skip_special_tokens=True)
        answers = score(
            {
                "prompt": each["row"]["prompt_text"],
                "completion": each["text"],
                "row": each["row"]["row"],
                "step": self.step,
            }
            for each in completions
        )
        for each, answer in zip(completions, answers, strict=True):
            each["parts"] = answer["parts"]
            each["total"] = total_of(answer["parts"].values(), self.weights)

    def advantages(self, batch):
        """Means over the tokens of completions; None where AgileRL computes them only while it learns."""
        if not hasattr(self.agent, "_calculate_advantages"):
            return [None] * len(batch)
        prepared = self.agent._prepare_experience_batch(batch.experiences(), batch.turn_ids)
        ids, masks, rewards, turns = prepared
        advantages, _ = self.agent._calculate_advantages(rewards, ids, masks, turns)
        counts = masks.sum(dim=1).clamp(min=1)
        return ((advantages.expand_as(masks) * masks).sum(dim=1) / counts).tolist()

    def look_at(self, seen):
        """Log-probabilities of the tokens before the update, under policy and reference."""
        return {
            "logprobs": self.heads(seen),
            "referenceLogprobs": self.heads(seen, use_reference=True) if self.agent.beta else None,
        }

    def heads(self, seen, use_reference=False):
        import torch

        ids = [each["tensor"][0] for each in seen]
        pad = torch.nn.utils.rnn.pad_sequence
        padded = pad(ids, batch_first=True, padding_value=self.agent.pad_token_id).to(self.agent.device)
        mask = pad([torch.ones_like(each) for each in ids], batch_first=True).to(self.agent.device)
        size = min(len(seen), self.agent.micro_batch_size_per_gpu)
        with torch.no_grad():
            values = self.agent._get_logprobs(
                padded, size, use_reference=use_reference, eval_mode=True, attention_mask=mask
            )
        return [
            row[len(each["prompt"]) - 1 :][: len(each["completion"])].tolist()
            for row, each in zip(values.float().cpu(), seen, strict=True)
        ]

    def sample(self, each, i, looked):
        return sample_of(
            row=each["row"],
            text=each["text"],
            parts=each["parts"],
            weights=self.weights,
            tokens=(each["prompt"], each["completion"]),
            is_ended=self.is_ended(each),
            advantage=each["advantage"],
            arrays={name: values and values[i] for name, values in looked.items()},
        )

    def is_ended(self, each):
        return each["completion"][-1] in self.ends

    def facts(self, each):
        lengths = len(each["prompt"]), len(each["completion"])
        return {"total": each["total"], "parts": each["parts"], "lengths": lengths, "ended": self.is_ended(each)}

    def learned_metrics(self, learned, rate):
        metrics = {name: learned[own] for own, name in LEARNED.items() if own in learned}
        clipped = [metrics[name] for name in ("clip_ratio/low_mean", "clip_ratio/high_mean") if name in metrics]
        if clipped:
            metrics["clip_ratio/region_mean"] = sum(clipped)
        if self.agent.beta:
            metrics["kl"] = learned.get("kl_ref", learned.get("kl", math.nan))
        metrics["learning_rate"] = rate
        return metrics

    def completion_metrics(self, facts):
        """Of the completions of all processes."""
        import numpy

        totals = [fact["total"] or 0.0 for fact in facts]
        lengths = [fact["lengths"][1] for fact in facts]
        self.tokens += sum(sum(fact["lengths"]) for fact in facts)
        metrics = {
            "reward": float(numpy.mean(totals)),
            **spread(totals, self.group),
            "num_tokens": self.tokens,
            "reward/unscored": sum(fact["total"] is None for fact in facts) / len(facts),
            "completions/mean_length": float(numpy.mean(lengths)),
            "completions/min_length": min(lengths),
            "completions/max_length": max(lengths),
            "completions/clipped_ratio": sum(not fact["ended"] for fact in facts) / len(facts),
        }
        if self.group > 1:
            groups = numpy.reshape(totals, (-1, self.group))
            metrics["frac_reward_zero_std"] = float((groups.std(axis=1) < 1e-8).mean())
        for name in facts[0]["parts"]:
            parts = [fact["parts"][name] for fact in facts if fact["parts"][name] is not None]
            if parts:
                metrics[f"rewards/{name}/mean"] = float(numpy.mean(parts))
                metrics[f"rewards/{name}/std"] = float(numpy.std(parts, ddof=1 if len(parts) > 1 else 0))
        return metrics

    def save(self, seen):
        import torch

        updates = self.step * self.watch.updates_per_step
        folder = self.watch.output / f"checkpoint-{updates}"
        with writing(folder):
            self.agent.save_checkpoint(str(folder))
            folder.mkdir(parents=True, exist_ok=True)
            torch.save({"step": self.step, "tokens": self.tokens, **self.random_states()}, folder / self.state_name)
        probed = seen[:PROBED]
        logprobs = self.heads(probed)
        probe = [
            probe_of(each["prompt"], each["completion"], own) for each, own in zip(probed, logprobs, strict=True)
        ]
        # Every process has written its part when this is said.
        gathered([None])
        say_saved(self.watch, self.step, updates, self.tokens, probe)

    @property
    def state_name(self):
        return f"rng_state_{self.rank}.pth"

    def random_states(self):
        """Each process draws its own completions and its own order of minibatches."""
        import numpy
        import torch

        devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return {
            "torch": torch.get_rng_state(),
            "cuda": devices,
            "numpy": numpy.random.get_state(),
            "python": random.getstate(),
            "agent": self.agent.rng,
        }

    def restore(self, folder):
        """Goes on after the step of a checkpoint, whose settings are those of the manifest."""
        import numpy
        import torch

        self.agent.load_checkpoint(str(folder), load_optimizer=True, restore_config=False)
        own = folder / self.state_name
        # A process more than there were has no state of its own.
        state = torch.load(own if own.exists() else folder / "rng_state_0.pth", weights_only=False)
        self.step, self.tokens = state["step"], state["tokens"]
        if not own.exists():
            torch.manual_seed(self.agent.seed + self.rank + self.step)
            return
        torch.set_rng_state(state["torch"])
        if len(state["cuda"]) > 0 and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda"])
        numpy.random.set_state(state["numpy"])
        random.setstate(state["python"])
        self.agent.rng = state["agent"]


if __name__ == "__main__":
    sys.exit("train.py uses this file.")
