"""What Turnwise is told of a training, whichever trainer it is: steps, samples and checkpoints, as events of a run's log. watch.py
is the way there; each trainer's own file finds the numbers.
"""

import base64
import sys

# Sequences whose log-probabilities go with each checkpoint, for Turnwise to compare with its own.
PROBED = 8


def pack(values, kind):
    import numpy

    return base64.b64encode(numpy.asarray(values, dtype=kind).tobytes()).decode("ascii")


def places_shown(count, group, shown):
    """Of `count` completions, whole groups spread over the batch: at least as many as are compared."""
    groups = max(1, count // group)
    fitting = min(groups, max(1, shown // group))
    places = [(k * groups) // fitting * group + i for k in range(fitting) for i in range(min(group, count))]
    return places[: max(shown, min(PROBED, count))]


def sample_of(row, text, parts, weights, tokens, is_ended, advantage, arrays):
    """One completion. `tokens`: ids of prompt and completion; `arrays`: per token of the completion, None where unknown."""
    prompt, completion = tokens

    def placed(values):
        # Nothing is predicted of the prompt.
        return None if values is None else pack([0.0] * (len(prompt) - 1) + list(values), "<f4")

    names = ("logprobs", "behaviorLogprobs", "referenceLogprobs", "entropies")
    return {
        "row": row["row_number"],
        "prompt": row["prompt_text"],
        "completion": text,
        "reward": total_of(parts.values(), weights),
        "parts": parts,
        "advantage": advantage,
        "tokens": len(completion),
        "stopReason": "stop-id" if is_ended else "length",
        "arrays": {
            "ids": pack([*prompt, *completion], "<i4"),
            "actionMask": placed([1.0] * len(completion)),
            **{name: placed(arrays.get(name)) for name in names},
            "advantages": None if advantage is None else placed([advantage] * len(completion)),
        },
    }


def total_of(parts, weights):
    """The weighted sum of those that apply; None where none does."""
    applied = [(weight, part) for weight, part in zip(weights, parts, strict=True) if part is not None]
    return sum(weight * part for weight, part in applied) if applied else None


def probe_of(prompt, completion, logprobs):
    """A completion with its log-probabilities under the adapter that is saved."""
    return {
        "ids": pack([*prompt, *completion], "<i4"),
        "prompt": len(prompt),
        "logprobs": pack(logprobs, "<f4"),
    }


def spread(totals, group):
    """The standard deviation of the reward within groups, as Turnwise means it."""
    import numpy

    if group < 2 or len(totals) % group != 0:
        return {}
    return {"reward_std": float(numpy.reshape(totals, (-1, group)).std(axis=1, ddof=1).mean())}


def say_engine(watch, step, processes, device, packages):
    """`packages`: distributions whose versions are of interest."""
    from importlib.metadata import version

    versions = {name: version(name) for name in packages}
    watch.say("engine", step=step, processes=processes, device=device, versions=versions)


def say_saved(watch, step, updates, tokens, probe):
    """The trainer's checkpoint in `watch.output`, which every process has written its part of. Every process calls it."""
    name = f"checkpoint-{updates}"
    folder = f"output/{name}"
    files = watch.bring_home(watch.output / name, folder) if watch.is_printed else None
    fields = {"updates": updates, "tokens": tokens, "folder": folder, "files": files}
    watch.say("saved", step=step, probe=probe, **fields)


if __name__ == "__main__":
    sys.exit("train.py uses this file.")
