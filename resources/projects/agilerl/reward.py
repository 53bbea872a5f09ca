"""The reward of the run for AgileRL: the weighted sum of its parts, answered by rewards/bridge.mjs."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "rewards"))

from bridge import score  # noqa: E402


def reward_fn(completion, answer, question):
    """`question` is the prompt as the policy reads it, `answer` the row as JSON text. AgileRL cannot leave a completion
    out of learning: where no part applies it gets 0."""
    sample = {"prompt": question, "completion": completion, "row": answer, "step": 0}
    total = score([sample])[0]["total"]
    return 0.0 if total is None else float(total)


if __name__ == "__main__":
    print(json.dumps(score([json.loads(line) for line in sys.stdin])))
