"""Losses and gradients as TRL's and AgileRL's own code computes them: a list of cases (JSON) in, of answers out."""

import json
import sys
from collections import defaultdict
from types import SimpleNamespace

import torch

torch.set_default_dtype(torch.float64)


def tensors(case):
    names = ["lp", "old", "ref", "entropies", "advantages", "mask"]
    made = {name: torch.tensor(case[name]) for name in names}
    made["lp"].requires_grad_(True)
    made["entropies"].requires_grad_(True)
    return SimpleNamespace(**made)


accelerator = SimpleNamespace(
    num_processes=1,
    sync_gradients=True,
    reduce=lambda x, reduction=None: x,
    gather=lambda x: x,
    gather_for_metrics=lambda x: x,
)


def trl_group(case, t):
    from trl import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    args = GRPOConfig(output_dir="/tmp/unused", use_cpu=True, report_to="none", **case["settings"])
    trainer = SimpleNamespace(
        args=args,
        accelerator=accelerator,
        model=SimpleNamespace(training=True),
        _metrics={"train": defaultdict(list)},
        _get_per_token_logps_and_entropies=lambda *a, **k: (t.lp, t.entropies, None),
        get_off_policy_mask=GRPOTrainer.get_off_policy_mask,
        aux_loss_enabled=False,
        use_vllm=False,
        current_gradient_accumulation_steps=1,
        epsilon_low=args.epsilon,
        epsilon_high=args.epsilon if args.epsilon_high is None else args.epsilon_high,
        _entropy_bonus_enabled=args.entropy_coef != 0,
        **{
            name: getattr(args, name)
            for name in [
                "top_entropy_quantile",
                "off_policy_mask_threshold",
                "importance_sampling_level",
                "beta",
                "loss_type",
                "max_completion_length",
                "use_adaptive_entropy",
                "entropy_coef",
            ]
        },
    )
    args.steps_per_generation = 1
    ids = torch.zeros(t.mask.shape, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": ids[:, :1],
        "completion_ids": ids,
        "completion_mask": t.mask,
        "advantages": t.advantages[:, 0],
        "old_per_token_logps": t.old,
        "ref_per_token_logps": t.ref,
        "num_items_in_batch": t.mask.sum(),
    }
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    metrics = {name: values[-1] for name, values in trainer._metrics["train"].items()}
    return loss, {name: value for name, value in metrics.items() if name == "kl" or name.startswith("clip_ratio/")}


def trl_pairs(case, t):
    from trl import DPOConfig
    from trl.trainer.dpo_trainer import DPOTrainer

    args = DPOConfig(output_dir="/tmp/unused", use_cpu=True, report_to="none", **case["settings"])
    chosen, rejected = (t.ref * t.mask)[0::2].sum(1), (t.ref * t.mask)[1::2].sum(1)
    order = torch.cat([torch.arange(0, len(t.mask), 2), torch.arange(1, len(t.mask), 2)])
    trainer = SimpleNamespace(
        args=args,
        accelerator=SimpleNamespace(**{**vars(accelerator), "device": "cpu"}),
        model=SimpleNamespace(training=True),
        _metrics={"train": defaultdict(list)},
        _total_train_tokens=0,
        _tp_size=1,
        aux_loss_enabled=False,
        precompute_ref_logps=True,
        loss_types=args.loss_type if isinstance(args.loss_type, list) else [args.loss_type],
        loss_weights=args.loss_weights or [1.0],
        **{name: getattr(args, name) for name in ["ld_alpha", "f_divergence_type", "beta", "label_smoothing", "use_weighting"]},
    )
    mask = t.mask[order]
    lp = (t.lp * t.mask)[order]
    outputs = SimpleNamespace(log_probs=lp, entropy=t.entropies[order], mean_logits=lp.detach(), is_top1=mask > 0)
    first = torch.zeros(len(mask), 1)
    inputs = {
        "input_ids": torch.zeros(len(mask), mask.shape[1] + 1, dtype=torch.long),
        "attention_mask": torch.ones(len(mask), mask.shape[1] + 1),
        "completion_mask": torch.cat([first, mask], dim=1),
        "ref_chosen_logps": chosen,
        "ref_rejected_logps": rejected,
    }
    return DPOTrainer._compute_loss(trainer, lambda **_: outputs, inputs, False), {}


def logits_of(logprobs):
    """[B][T][2] logits whose first token has these log-probabilities."""
    return torch.stack([logprobs, torch.log(-torch.expm1(logprobs))], dim=-1)


def answers_alone(t):
    """Chosen answers, then rejected ones, as ORPO's and CPO's trainers have them; prompts of one token, without a loss."""
    order = torch.cat([torch.arange(0, len(t.mask), 2), torch.arange(1, len(t.mask), 2)])
    logits = logits_of(torch.where(t.mask > 0, t.lp, -1.0)[order])
    logits = torch.cat([logits, torch.zeros_like(logits[:, :1])], dim=1)
    labels = torch.where(t.mask[order] > 0, 0, -100)
    labels = torch.cat([torch.full_like(labels[:, :1], -100), labels], dim=1)
    half = len(labels) // 2
    batch = {
        "concatenated_input_ids": torch.zeros_like(labels),
        "concatenated_attention_mask": (labels != -100).long(),
        "concatenated_labels": labels,
    }
    return {"chosen_labels": labels[:half]}, batch, lambda *a, **k: SimpleNamespace(logits=logits)


def trl_reference_free(case, t, Trainer, args):
    given, batch, model = answers_alone(t)
    trainer = SimpleNamespace(
        is_encoder_decoder=False,
        aux_loss_enabled=False,
        padding_value=0,
        pad_token_id=0,
        label_pad_token_id=-100,
        accelerator=SimpleNamespace(**{**vars(accelerator), "device": "cpu"}),
        concatenated_inputs=lambda *a, **k: batch,
        get_batch_logps=Trainer.get_batch_logps,
        **{name: getattr(args, name) for name in vars(args) if name in ["beta", "loss_type", "label_smoothing", "cpo_alpha", "simpo_gamma", "alpha"]},
    )
    for name in ["concatenated_forward", "odds_ratio_loss", "cpo_loss"]:
        if hasattr(Trainer, name):
            setattr(trainer, name, getattr(Trainer, name).__get__(trainer))
    loss, metrics = Trainer.get_batch_loss_metrics(trainer, model, given)
    return loss, {name: value for name, value in metrics.items() if name.startswith("rewards/")}


def trl_orpo(case, t):
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer

    args = ORPOConfig(output_dir="/tmp/unused", use_cpu=True, report_to="none", **case["settings"])
    return trl_reference_free(case, t, ORPOTrainer, args)


def trl_cpo(case, t):
    from trl.experimental.cpo import CPOConfig, CPOTrainer

    args = CPOConfig(output_dir="/tmp/unused", use_cpu=True, report_to="none", **case["settings"])
    return trl_reference_free(case, t, CPOTrainer, args)


def trl_kto(case, t):
    from trl import KTOConfig
    from trl.trainer.kto_trainer import KTOTrainer

    args = KTOConfig(output_dir="/tmp/unused", use_cpu=True, report_to="none", **case["settings"])
    gaps = torch.tensor(case["mismatched"])
    trainer = SimpleNamespace(
        accelerator=SimpleNamespace(**{**vars(accelerator), "device": "cpu"}),
        model=SimpleNamespace(training=True),
        _metrics={"train": defaultdict(list)},
        _total_train_tokens=0,
        _tp_size=1,
        aux_loss_enabled=False,
        precompute_ref_logps=True,
        calculate_KL=True,
        _compute_kl_logps=lambda model, batch: gaps,
        **{name: getattr(args, name) for name in ["beta", "loss_type", "desirable_weight", "undesirable_weight"]},
    )
    lp = t.lp * t.mask
    outputs = SimpleNamespace(log_probs=lp, entropy=t.entropies, mean_logits=lp.detach())
    inputs = {
        "input_ids": torch.zeros(len(lp), lp.shape[1] + 1, dtype=torch.long),
        "attention_mask": torch.ones(len(lp), lp.shape[1] + 1),
        "completion_mask": torch.cat([torch.zeros(len(lp), 1), t.mask], dim=1),
        "label": torch.tensor(case["labels"]),
        "ref_logps": (t.ref * t.mask).sum(1),
        "ref_KL_logps": torch.zeros(len(lp)),
    }
    loss = KTOTrainer._compute_loss(trainer, lambda **_: outputs, inputs, False)
    metrics = {name: values[-1] for name, values in trainer._metrics["train"].items()}
    shown = {name: value for name, value in metrics.items() if name.startswith(("rewards/", "logps/"))}
    return loss, {**shown, "reference_point": metrics["kl"]}


def trl_gkd(case, t):
    """Here `lp` and `ref` are the logits of student and teacher, [tokens][V]."""
    from trl.experimental.gkd import GKDTrainer

    return GKDTrainer.generalized_jsd_loss(t.lp[None], t.ref[None], t.mask[:, 0].long()[None], **case["settings"]), {}


def agilerl_group(case, t):
    import inspect

    from agilerl.algorithms.grpo import GRPO

    usual = inspect.signature(GRPO.__init__).parameters
    agent = GRPO.__new__(GRPO)
    given = lambda name: case["settings"].get(name, usual[name].default)
    for name in [
        "beta",
        "kl_clamp",
        "use_bias_correction_kl",
        "use_kl_advantage_shaping",
        "off_policy_token_mask_bounds",
        "off_policy_sequence_mask_threshold",
        "loss_norm",
    ]:
        object.__setattr__(agent, name, given(name))
    clip = given("clip_coef")
    low, high = clip if isinstance(clip, (list, tuple)) else (1 - clip, 1 + clip)
    loss_type = given("loss_type")
    level = given("importance_sampling_level") or ("trajectory" if loss_type == "gspo" else "token")
    objective = "cispo" if loss_type == "cispo" else "grpo"
    mask = t.mask.bool()
    rest = {
        "clip_coef_min": low,
        "clip_coef_max": high,
        "gradient_accumulation_steps": 1,
        "_segment_accumulation_steps": None,
        "_window_action_tokens": mask.sum(),
    }
    for name, value in rest.items():
        object.__setattr__(agent, name, value)
    loss, kl, _ = agent._compute_policy_loss(
        mask, t.lp, t.old, t.ref, t.advantages[:, :1], None, level, objective
    )
    return loss, {"kl": kl.item()}


kinds = {
    "trl-group": trl_group,
    "trl-pairs": trl_pairs,
    "trl-orpo": trl_orpo,
    "trl-cpo": trl_cpo,
    "trl-kto": trl_kto,
    "trl-gkd": trl_gkd,
    "agilerl-group": agilerl_group,
}

answers = []
for case in json.load(sys.stdin):
    t = tensors(case)
    loss, metrics = kinds[case["kind"]](case, t)
    loss.backward()
    zero = torch.zeros_like(t.lp)
    answers.append(
        {
            "loss": loss.item(),
            "logprobs": t.lp.grad.tolist(),
            "entropies": (zero if t.entropies.grad is None else t.entropies.grad).tolist(),
            "metrics": metrics,
        }
    )
print("ANSWERS " + json.dumps(answers))
