"""Answers the rows of a run, sixteen sessions at a time: TURNWISE_KEY=… python agent.py http://127.0.0.1:8790

Needs the packages openai and requests. The run is started with: turnwise collect my-run.json --port 8790
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import requests
from openai import OpenAI

address, key = sys.argv[1], os.environ["TURNWISE_KEY"]
headers = {"authorization": f"Bearer {key}"}


def post(path, body):
    answer = requests.post(f"{address}{path}", json=body, headers=headers, timeout=120)
    answer.raise_for_status()
    return answer.json()


def act(session):
    """Plays one session and returns its end; {} leaves the reward to the run's reward functions."""
    client = OpenAI(base_url=session["base_url"], api_key=key)
    client.chat.completions.create(
        model="policy", messages=[{"role": "user", "content": session["columns"]["prompt"]}]
    )
    return {}


def work(_):
    while True:
        session = post("/sessions", {})
        if session["over"]:
            return
        if session["id"] is not None:
            post(f"/sessions/{session['id']}/end", act(session))


with ThreadPoolExecutor(16) as pool:
    list(pool.map(work, range(16)))
