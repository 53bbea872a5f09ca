"""Plays an environment of the package verifiers, unchanged, as the agent of a run:

    python verifiers_agent.py my-environment rows > rows.jsonl
    turnwise collect my-run.json --port 8790
    TURNWISE_KEY=… python verifiers_agent.py my-environment http://127.0.0.1:8790 '{"max_turns": 4}'

Needs the packages verifiers and requests, and the environment's own. `my-environment` is what `verifiers.load_environment` takes,
the JSON its arguments, of both commands alike. The config of the run has `"train": "rows.jsonl"` and `"prompt": {"column": "prompt"}`.
"""

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import requests
import verifiers as vf

name, what, arguments = [*sys.argv[1:], "{}"][:3]
env = vf.load_environment(name, **json.loads(arguments))
if env.requires_group_rollouts:
    sys.exit("Its rubric compares the rollouts of a row with each other; sessions are scored one by one.")
http = requests.Session()


def post(path, body):
    headers = {"authorization": f"Bearer {os.environ['TURNWISE_KEY']}"}
    answer = http.post(f"{what}{path}", json=body, headers=headers, timeout=120)
    answer.raise_for_status()
    return answer.json()


async def play(session):
    """Plays one row by the environment's own rollout and rubric, and returns the end of its session."""
    client = vf.ClientConfig(api_key_var="TURNWISE_KEY", api_base_url=session["base_url"], max_retries=0)
    output = await env.run_rollout(session["columns"], client, "policy", {})
    if output.get("error"):
        return {"failure": str(output["error"])}
    return {"reward": output["reward"], "parts": output["metrics"]}


async def work():
    while True:
        session = await asyncio.to_thread(post, "/sessions", {})
        if session["over"]:
            return
        if session["id"] is not None:
            await asyncio.to_thread(post, f"/sessions/{session['id']}/end", await play(session))


async def main():
    # Asking for a session waits in a thread, and so do calls of verifiers.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(64))
    await asyncio.gather(*(work() for _ in range(16)))


if what == "rows":
    for row in env.get_dataset():
        print(json.dumps(row))
else:
    asyncio.run(main())
