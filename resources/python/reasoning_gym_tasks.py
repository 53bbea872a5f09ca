"""Tasks of ReasoningGym: rows of a data set, and the reward that scores completions of them."""

import functools

import reasoning_gym
from reasoning_gym.utils import extract_answer


def rows(dataset, size=500, seed=42, **config):
    """`dataset`: a name such as `chain_sum`; `config`: what the data set takes besides."""
    for entry in reasoning_gym.create_dataset(dataset, size=int(size), seed=int(seed), **config):
        yield {"prompt": entry["question"], **entry}


scorer_of = functools.cache(reasoning_gym.get_score_answer_fn)


def score(completions, question, answer, metadata, tag="answer", **kwargs):
    """The last <answer>…</answer> of a completion, or all of it where it has none."""
    scores = []
    for completion, *columns in zip(completions, question, answer, metadata):
        text = completion if isinstance(completion, str) else completion[-1]["content"]
        given = extract_answer(text, tag_name=tag)
        entry = dict(zip(("question", "answer", "metadata"), columns))
        scorer = scorer_of(entry["metadata"]["source_dataset"])
        scores.append(scorer(answer=text.strip() if given is None else given, entry=entry))
    return scores
