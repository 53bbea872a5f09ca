"""A text environment of Gymnasium: find the largest number, with a hint after each wrong answer."""

import gymnasium
from gymnasium.spaces import Text


class Largest(gymnasium.Env):
    """Two turns; the second one is worth half."""

    max_turns = 2
    observation_space = Text(128)
    action_space = Text(128)

    def __init__(self, numbers=4):
        self.count = numbers

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        numbers = [int(number) for number in self.np_random.choice(10, self.count, replace=False)]
        self.right, self.turn = str(max(numbers)), 0
        return f"Largest of {' '.join(map(str, numbers))}", {}

    def step(self, action):
        self.turn += 1
        right = action.strip() == self.right
        reward = (1.0 if self.turn == 1 else 0.5) if right else 0.0
        return f"Largest of {self.right} 0", reward, right, self.turn == 2, {"correct": right}
