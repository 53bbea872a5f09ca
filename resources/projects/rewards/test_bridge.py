"""Compares the bridge with what the run's own scoring said: python test_bridge.py (or pytest). Exits with 1 where they differ."""

import json
import sys
from pathlib import Path

from bridge import bridge, score, split_lines


def test_bridge():
    text = (Path(__file__).resolve().parent / "fixtures.jsonl").read_text(encoding="utf-8")
    fixtures = [json.loads(line) for line in split_lines(text)]
    answers = score([fixture["sample"] for fixture in fixtures])
    bridge.close()
    for number, (fixture, answer) in enumerate(zip(fixtures, answers, strict=True), start=1):
        for what in ("parts", "total"):
            assert answer[what] == fixture[what], (
                f"fixture {number}: expected {what} {fixture[what]}, got {answer[what]} "
                f"for {fixture['sample']['completion']!r}"
            )
    return len(fixtures)


if __name__ == "__main__":
    try:
        print(f"{test_bridge()} fixtures agree")
    except AssertionError as error:
        sys.exit(str(error))
