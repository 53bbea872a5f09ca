"""A LangGraph graph as an agent: TURNWISE_KEY=… python langgraph_agent.py http://127.0.0.1:8790

Needs the packages langgraph, langchain-openai and requests. The run is started with: turnwise collect my-run.json --port 8790
The graph asks once more where an answer is a sentence, and is rewarded for a last answer that is the bare result.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import requests
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

address, key = sys.argv[1], os.environ["TURNWISE_KEY"]
headers = {"authorization": f"Bearer {key}"}


def graph(base_url):
    """Builds the graph as for any other model: only `base_url` is Turnwise's."""
    model = ChatOpenAI(model="policy", base_url=base_url, api_key=key)

    def answer(state: MessagesState):
        return {"messages": [model.invoke(state["messages"])]}

    def insist(state: MessagesState):
        return {"messages": [HumanMessage(state["messages"][0].content)]}

    def next_node(state: MessagesState):
        is_sentence = state["messages"][-1].content.strip().endswith(".")
        return "insist" if is_sentence and len(state["messages"]) < 4 else END

    built = StateGraph(MessagesState)
    built.add_node("answer", answer)
    built.add_node("insist", insist)
    built.add_edge(START, "answer")
    built.add_conditional_edges("answer", next_node, ["insist", END])
    built.add_edge("insist", "answer")
    return built.compile()


def post(path, body):
    answer = requests.post(f"{address}{path}", json=body, headers=headers, timeout=120)
    answer.raise_for_status()
    return answer.json()


def work(_):
    while True:
        session = post("/sessions", {})
        if session["over"]:
            return
        if session["id"] is None:
            continue
        task = HumanMessage(session["columns"]["prompt"])
        messages = graph(session["base_url"]).invoke({"messages": [task]})["messages"]
        reward = float(messages[-1].content.strip() == session["columns"]["answer"])
        post(f"/sessions/{session['id']}/end", {"reward": reward})


with ThreadPoolExecutor(8) as pool:
    list(pool.map(work, range(8)))
