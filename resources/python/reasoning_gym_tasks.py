"""Tasks of ReasoningGym: rows of a data set, and the reward that scores completions of them.

Scorers of some tasks evaluate parts of a row or a completion as Python: data and models, which are only read elsewhere, would run code.
They are refused here, before any of it runs. `reasoning-gym-evaluating` is this file with one more line, and a consent of its own.
"""

import functools
import os
import sys

import reasoning_gym
from reasoning_gym.utils import extract_answer


def rows(dataset, size=500, seed=42, **config):
    """`dataset`: a name such as `chain_sum`; `config`: what the data set takes besides."""
    for entry in reasoning_gym.create_dataset(dataset, size=int(size), seed=int(seed), **config):
        yield {"prompt": entry["question"], **entry}


scorer_of = functools.cache(reasoning_gym.get_score_answer_fn)

EVALUATES = False
scoring = {"task": None, "refused": False}
library = os.path.dirname(os.__file__) + os.sep


def watch(event, args):
    """Refuses code made of text while a scorer runs. What the standard library makes so, as for named tuples, is its own."""
    if event != "exec" or EVALUATES or scoring["task"] is None:
        return
    caller = sys._getframe(1).f_code.co_filename
    is_text = not os.path.isabs(getattr(args[0], "co_filename", ""))
    if is_text and not (caller.startswith(library) and "site-packages" not in caller):
        scoring["refused"] = True
        raise PermissionError(refusal())


def refusal():
    return (
        f"the scorer of {scoring['task']} evaluates parts of a row or a completion as Python, so that these could run code. "
        "None of it was run. If you trust the data and the model, name the reward reasoning-gym-evaluating, which asks for consent of its own"
    )


sys.addaudithook(watch)


def scored(task, text, entry):
    scorer = scorer_of(task)
    scoring.update(task=task, refused=False)
    try:
        value = scorer(answer=text, entry=entry)
        if scoring["refused"]:  # a scorer may take any error for a wrong answer
            raise PermissionError(refusal())
        return value
    finally:
        scoring["task"] = None


def score(completions, question, answer, metadata, tag="answer", **kwargs):
    """The last <answer>…</answer> of a completion, or all of it where it has none."""
    scores = []
    for completion, *columns in zip(completions, question, answer, metadata):
        text = completion if isinstance(completion, str) else completion[-1]["content"]
        given = extract_answer(text, tag_name=tag)
        entry = dict(zip(("question", "answer", "metadata"), columns))
        task = entry["metadata"]["source_dataset"]
        scores.append(scored(task, text.strip() if given is None else given, entry))
    return scores
