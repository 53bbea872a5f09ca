"""Reward functions in the two forms that TRL's documentation shows; they run there and here unchanged."""

import re


def digits_only(completions, **kwargs):
    """1 where the completion is digits separated by single spaces, and nothing else."""
    return [1.0 if re.fullmatch(r"\d+(?: \d+)*", text_of(completion)) else 0.0 for completion in completions]


def correct(prompts, completions, answer, **kwargs):
    """1 where the completion is the answer; `answer` is a column of the data set."""
    return [1.0 if text_of(completion) == right else 0.0 for completion, right in zip(completions, answer)]


def text_of(completion):
    """Where prompts are messages, so are completions."""
    text = completion if isinstance(completion, str) else completion[0]["content"]
    return text.strip()
