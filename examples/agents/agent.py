"""Answers the rows of a run, 32 sessions at a time: TURNWISE_KEY=… python agent.py http://127.0.0.1:8790

Needs the packages openai and requests. The run is started with: turnwise collect my-run.json --port 8790
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import requests
from openai import OpenAI

address, key = sys.argv[1], os.environ["TURNWISE_KEY"]
policy = OpenAI(base_url=address, api_key=key)
http = requests.Session()
http.headers["authorization"] = f"Bearer {key}"


def post(path, body):
    answer = http.post(f"{address}{path}", json=body, timeout=120)
    answer.raise_for_status()
    return answer.json()


def act(session):
    """Plays one session and returns its end; {} leaves the reward to the run's reward functions."""
    policy.with_options(base_url=session["base_url"]).chat.completions.create(
        model="policy", messages=[{"role": "user", "content": session["columns"]["prompt"]}]
    )
    return {}


def work(_):
    session = post("/sessions", {})
    while not session["over"]:
        if session["id"] is None:  # none is free yet
            session = post("/sessions", {})
        else:
            session = post(f"/sessions/{session['id']}/end", {**act(session), "next": {}})


with ThreadPoolExecutor(32) as pool:
    list(pool.map(work, range(32)))
