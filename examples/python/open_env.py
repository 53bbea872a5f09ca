"""A server of OpenEnv as an environment. The fields of its action and observation that are texts differ from one to the next: `GET /schema` names them."""

from openenv import GenericEnvClient


class Remote:
    def __init__(self, url="http://127.0.0.1:8000", action="message", observation="echoed_message", turns=1):
        self.client, self.action, self.observation = GenericEnvClient(base_url=url).sync(), action, observation
        # Ends by itself, so that its session at the server is closed.
        self.max_turns = self.left = turns

    def reset(self, seed=None):
        return str(self.client.reset(seed=seed).observation[self.observation]), {}

    def step(self, action):
        self.left -= 1
        result = self.client.step({self.action: action})
        text = str(result.observation.get(self.observation, ""))
        return text, float(result.reward or 0), bool(result.done), self.left == 0, {}

    def close(self):
        self.client.close()
