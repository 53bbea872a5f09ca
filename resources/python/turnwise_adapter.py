"""
Runs Python code of rewards, environments and data for Turnwise, which speaks to it in JSON lines.

Not a sandbox: the code may do whatever its user may. Standard library only, Python 3.9 or newer. A request is one line
on standard input; every input of it is answered by one line, in order. What the code prints goes to standard error, and
the process ends when standard input does, which is when its host has died.
"""

import asyncio
import functools
import inspect
import io
import itertools
import json
import linecache
import math
import os
import queue
import random
import re
import shutil
import signal
import site
import sys
import threading
import types
import zlib

from turnwise_imports import Beside, lead_others, leave_environment_to_others

MOST_LINES = 100
MOST_CHARACTERS = 4000
MOST_LIVE_EPISODES = 4096


class Problem(Exception):
    """What is wrong, as a sentence."""


class Printed(io.TextIOBase):
    """Standard output as the code sees it: kept line by line for the answer, and passed on to standard error."""

    def __init__(self):
        self.text = ""

    def writable(self):
        return True

    def write(self, text):
        sys.stderr.write(text)
        self.text = (self.text + text)[: MOST_LINES * MOST_CHARACTERS]
        return len(text)

    def flush(self):
        sys.stderr.flush()

    def take(self):
        text, self.text = self.text, ""
        return [line[:MOST_CHARACTERS] for line in text.splitlines()[:MOST_LINES]]


class Code:
    """The loaded file."""

    def __init__(self):
        self.module = types.ModuleType("code")
        self.file = ""
        self.beside = None
        self.loop = asyncio.new_event_loop()
        self.episodes = {}

    def load(self, code, file, modules, paths, private):
        name = os.path.splitext(os.path.basename(file))[0]
        if not name.isidentifier() or name in sys.modules:
            name = "turnwise_user_code"
        self.file = file
        self.module = types.ModuleType(name)
        self.module.__file__ = file
        # A package has no folder. The process starts elsewhere: what lies in this one must not be imported as it starts.
        folder = os.path.dirname(file)
        if os.path.isabs(folder):
            if os.path.isdir(folder):
                os.chdir(folder)
            self.beside = Beside(folder, modules, list(sys.path), private, sys.pycache_prefix)
            lead_others(self.beside)
            self.beside.open()
            # Folders of PYTHONPATH in there, which Python must not see as it starts.
            sys.path[1:1] = paths
        else:
            site.main()
        sys.modules[name] = self.module
        # The copy of a run may differ from the file: tracebacks and inspect show what runs.
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        exec(compile(code, file, "exec"), self.module.__dict__)
        values = {name: value for name, value in vars(self.module).items() if not name.startswith("_") and self.is_reward(value)}
        own = [name for name, value in values.items() if is_own(value, self.module)]
        return {
            "functions": list(values),
            "own": own or [name for name, value in values.items() if parts_of_rubric(value) is not None],
            "needsTokens": "completion_ids" in code,
            "hasEnvironment": any(is_environment_class(value, self.module) for value in vars(self.module).values()),
        }

    def find(self, name):
        """
        Finds what a config may have called with settings of its choice: a class or function of the file. What the file imports from
        packages is there for the file's own use, and nothing is reached through other objects.
        """
        value = self.value_of(name)
        if self.defines(value):
            return value
        raise foreign(name)

    def find_reward(self, name):
        value = self.value_of(name)
        if self.is_reward(value):
            return value
        raise foreign(name) if callable(value) else Problem(f"“{name}” is not a function.")

    def value_of(self, name):
        if name in vars(self.module):
            return vars(self.module)[name]
        raise Problem(f"The file has no “{name}”." if name.isidentifier() else f"Expected the name of a class or function, got “{name}”.")

    def defines(self, value):
        """Whether it is code of the file, or of a file that was allowed with it."""
        while isinstance(value, functools.partial):
            value = value.func
        origin = getattr(value, "__module__", None)
        if not isinstance(origin, str):
            return False
        file = getattr(sys.modules.get(origin), "__file__", None)
        return origin == self.module.__name__ or (self.guards(file) and self.beside.digest(file) is not None)

    def guards(self, file):
        """Whether a module's file lies in the folder of the code."""
        return self.beside is not None and isinstance(file, str) and self.beside.guards(file)

    def is_reward(self, value):
        """A function of the file that scores completions, or functions that the file has put together."""
        if isinstance(value, (type, types.ModuleType)):
            return False
        if self.defines(value) and takes_completions(value):
            return True
        pairs = parts_of_rubric(value)
        if pairs is None or self.is_of_package(value):
            return False
        return all(self.defines(function) or takes_completions(function) for function, _ in pairs)

    def is_of_package(self, value):
        """Whether an object that the file has is one of a module that is not code of the person, as one that was imported is."""
        for module in list(sys.modules.values()):
            is_own = module is self.module or self.guards(getattr(module, "__file__", None))
            if not is_own and any(each is value for each in list(getattr(module, "__dict__", {}).values())):
                return True
        return False

    def awaited(self, value):
        """Coroutines of all calls run in one event loop, so that clients they keep open stay usable."""
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def failure(self, error):
        """What went wrong, with the innermost line that lies in the user's file."""
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:
                line = trace.tb_lineno
            trace = trace.tb_next
        if isinstance(error, Problem):
            message = str(error)
        elif isinstance(error, ModuleNotFoundError) and error.name is not None:
            message = self.not_found(error.name)
        else:
            message = f"{type(error).__name__}: {error}"
            if isinstance(error, SyntaxError) and error.filename == self.file:
                line, message = error.lineno, f"SyntaxError: {error.msg}"
        return {"failure": {"kind": "exception", "message": message[:MOST_CHARACTERS], "line": line}}

    def not_found(self, module):
        if self.beside is not None and module in self.beside.left_out:
            return not_asked(module)
        folder = self.beside and self.beside.elsewhere.get(module)
        return missing(module) if folder is None else not_here(module, folder, self.file)


def foreign(name):
    return Problem(
        f"“{name}” is not defined in the file, so no config can have it called. Define a class or function in the file that uses it."
    )


# Packages whose name on PyPI is not that of their module.
PACKAGES = {"cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "PyYAML"}


def missing(module):
    top = module.split(".")[0]
    package = PACKAGES.get(top, top.replace("_", "-"))
    return f"Python has no module named “{top}”. Install it: {sys.executable} -m pip install {package}"


def not_asked(module):
    return (
        f"“{module}” lies beside the code but was not there when the code was allowed, or nobody is asked about it: "
        "virtual environments, and folders whose name no import can say. Start again to be asked about what is new."
    )


def not_here(module, folder, file):
    return (
        f"“{module}” lies in {folder}, which is neither the folder of {os.path.basename(file)} nor one of the interpreter's "
        "packages, so nobody was asked about it and it was not run. Move it beside the code, or put a file that imports the "
        f"code into {folder} and name that in its place: all that can be imported from there is asked about then. Or install it."
    )


# Rewards


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


TEXT = re.compile(r"(typing\.)?(Optional\[)?str\]?( \| None)?")
TEXTS = re.compile(r"(typing\.|collections\.abc\.)?(list|List|Sequence|Iterable)\[str\]")


def says(function, name, kind):
    """Whether a function says of what it takes under a name that it is text, or a list of texts."""
    said = getattr(parameters(function).get(name), "annotation", None)
    return kind.fullmatch("str" if said is str else str(said).strip("'\" ")) is not None


def text_of(value):
    """The contents of messages; text as it is."""
    if isinstance(value, str):
        return value
    return "\n\n".join(str(message.get("content") or "") for message in value)


def is_of_agilerl(function):
    """Whether AgileRL would get it as its `reward_fn`, which takes one completion as text; others take messages."""
    said = getattr(parameters(function).get("completion"), "annotation", None)
    return getattr(function, "__name__", None) == "reward_fn" and said is inspect.Parameter.empty


def as_texts(function, completion, prompt, kind, given, convert):
    """Turns messages into text where the function says so; one that takes completions as text gets text for prompts too."""
    names = parameters(function)
    annotation = getattr(names.get(prompt), "annotation", inspect.Parameter.empty)
    is_text = says(function, completion, kind) or (completion == "completion" and is_of_agilerl(function))
    if is_text:
        given[completion] = convert(given[completion])
    if says(function, prompt, kind) or (is_text and annotation is inspect.Parameter.empty):
        given[prompt] = convert(given[prompt])


def accepted(function, arguments):
    """Those that a function takes."""
    taken = parameters(function)
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return arguments
    return {name: value for name, value in arguments.items() if name in taken}


def is_own(value, module):
    return getattr(value, "__module__", None) == module.__name__ and not isinstance(value, type)


def takes_completions(value):
    return callable(value) and bool({"completions", "completion"} & set(parameters(value)))


def parts_of_rubric(value):
    """The (function, weight) pairs of a list of functions, a list of pairs or a rubric of `verifiers`; else None."""
    if isinstance(value, (list, tuple)):
        pairs = [each if isinstance(each, (list, tuple)) and len(each) == 2 else (each, 1.0) for each in value]
        whole = pairs and all(callable(f) and isinstance(weight, (int, float)) for f, weight in pairs)
        return pairs if whole else None
    for functions, weights in (("funcs", "weights"), ("reward_funcs", "reward_weights")):
        own = getattr(value, functions, None)
        if isinstance(own, (list, tuple)):
            return list(zip(own, getattr(value, weights, None) or [1.0] * len(own)))
    return None


def number(value):
    """A float, or None where the function does not apply: TRL counts None and NaN as that."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, dict, list, tuple)):
        raise Problem(f"Expected a number or None, got {type(value).__name__}.")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise Problem(f"Expected a number or None, got {type(value).__name__}.") from None
    if math.isinf(result):
        raise Problem(f"Expected a finite number or None, got {result}.")
    return None if math.isnan(result) else result


def score_batch(code, function, inputs, settings):
    """As TRL calls a reward function: once, with every column as a list."""
    names = dict.fromkeys(name for each in inputs for name in each["row"])
    columns = {name: [each["row"].get(name) for each in inputs] for name in names}
    extra, metrics = {}, {}

    def log_extra(column, values):
        extra[str(column)] = list(values)

    def log_metric(name, value):
        metrics[str(name)] = float(value)

    given = {
        **columns,
        "prompts": [each["prompt"] for each in inputs],
        "completions": [each["completion"] for each in inputs],
        "completion_ids": [each["ids"] for each in inputs],
        "trainer_state": types.SimpleNamespace(global_step=inputs[0]["step"]),
        "log_extra": log_extra,
        "log_metric": log_metric,
    }
    for name in ("prompt", "completion"):
        given.pop(name, None)
    as_texts(function, "completions", "prompts", TEXTS, given, lambda values: [text_of(value) for value in values])
    values = code.awaited(function(**accepted(function, {**settings, **given})))
    try:
        values = list(values)
    except TypeError:
        raise Problem(f"Expected a list of numbers, one per completion, got {type(values).__name__}.") from None
    if len(values) != len(inputs):
        raise Problem(f"Expected {len(inputs)} rewards, one per completion, got {len(values)}.")
    return [
        settle(code, lambda value=value: {"value": number(value), "metrics": metrics, "columns": row_of(extra, i)})
        for i, value in enumerate(values)
    ]


def row_of(extra, i):
    return {name: shown(values[i]) for name, values in extra.items() if i < len(values)}


def score_each(code, function, inputs, settings):
    """As verifiers calls the functions of a rubric: for one completion, with what their parameters name."""

    def one(each):
        row = each["row"]
        state = {**row, "prompt": each["prompt"], "completion": each["completion"]}
        state = {"answer": "", "info": {}, "task": "default", **state}
        given = {**settings, **row, **{name: state[name] for name in ("prompt", "completion", "answer", "info", "task")}}
        given["state"] = state
        as_texts(function, "completion", "prompt", TEXT, given, text_of)
        return {"value": number(code.awaited(function(**accepted(function, given))))}

    return [settle(code, lambda each=each: one(each)) for each in inputs]


def score_function(code, function, inputs, settings):
    if "completion" in parameters(function) and "completions" not in parameters(function):
        return score_each(code, function, inputs, settings)
    return score_batch(code, function, inputs, settings)


def score_rubric(code, rubric, pairs, inputs, settings):
    """The weighted sum of the functions; what each of them says is a metric."""
    given = {"parser": getattr(rubric, "parser", None), **settings}
    answers = [score_function(code, function, inputs, given) for function, _ in pairs]
    results = []
    for of_sample in zip(*answers):
        failed = next((each for each in of_sample if "failure" in each), None)
        values = [(pair, each.get("value")) for pair, each in zip(pairs, of_sample)]
        named = [(pair, value) for pair, value in values if value is not None]
        metrics = {getattr(function, "__name__", "reward"): value for (function, _), value in named}
        value = sum(weight * value for (_, weight), value in named) if named else None
        results.append(failed or {"value": value, "metrics": metrics})
    return results


def settle(code, answer):
    try:
        return answer()
    except BaseException as error:
        return code.failure(error)


def score(code, name, inputs, settings):
    reward = code.find_reward(name)
    seed = zlib.crc32(json.dumps(inputs, sort_keys=True).encode())
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    pairs = parts_of_rubric(reward)
    if pairs is not None:
        return score_rubric(code, reward, pairs, inputs, settings)
    return score_function(code, reward, inputs, settings)


# Environments


def is_environment_class(value, module):
    own = isinstance(value, type) and value.__module__ == module.__name__
    return own and hasattr(value, "reset") and hasattr(value, "step")


def find_maker(code, name):
    """What makes an environment: a class or a function."""
    if name is not None:
        return code.find(name)
    if code.defines(vars(code.module).get("make")):
        return code.module.make
    classes = [each for each in vars(code.module).values() if is_environment_class(each, code.module)]
    if len(classes) == 1:
        return classes[0]
    raise Problem("Name the class or function that makes the environment: file.py#Name.")


def make(code, name, settings):
    maker = find_maker(code, name)
    if not callable(maker):
        raise Problem(f"“{name}” is neither a class nor a function that makes an environment.")
    environment = maker(**accepted(maker, settings))
    if not (hasattr(environment, "reset") and hasattr(environment, "step")):
        raise Problem(f"{type(environment).__name__} has no reset and step.")
    return environment


def describe(code, name, settings):
    environment = make(code, name, settings)
    spec = getattr(environment, "spec", None)
    most = getattr(environment, "max_turns", None) or getattr(spec, "max_episode_steps", None)
    if hasattr(environment, "close"):
        environment.close()
    return {"maxTurns": int(most) if most else None}


class Episode:
    """A living environment and what it said: enough to tell that another one goes on at the very same place."""

    def __init__(self, code, name, settings, row, seed):
        self.environment = make(code, name, settings)
        self.seed, self.actions, self.check = seed, [], 0
        reset = self.environment.reset
        answer = reset(**accepted(reset, {"seed": seed, "options": row}))
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict)):
            raise Problem(f"reset must return (observation, info), got {described(answer)}.")
        self.turn = self.answer(answer[0], None, False, False, answer[1])

    def step(self, action):
        self.actions.append(action)
        played = action_in(getattr(self.environment, "action_space", None), action)
        if isinstance(played, Problem):
            self.turn = self.answer(str(played), 0.0, False, False, {})
            return
        answer = self.environment.step(played)
        if not (isinstance(answer, tuple) and len(answer) == 5 and isinstance(answer[4], dict)):
            right = "(observation, reward, terminated, truncated, info)"
            raise Problem(f"step must return {right}, got {described(answer)}.")
        self.turn = self.answer(*answer)

    def answer(self, observation, reward, terminated, truncated, info):
        text = observation_of(observation)
        value = number(reward)
        self.check = zlib.crc32(json.dumps([self.check, text, value], sort_keys=True).encode())
        return {
            "observation": text,
            "reward": value,
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            **logged(info),
        }

    def is_over(self):
        return self.turn["terminated"] or self.turn["truncated"]

    def close(self):
        if hasattr(self.environment, "close"):
            self.environment.close()


def described(answer):
    return f"a tuple of {len(answer)}" if isinstance(answer, tuple) else type(answer).__name__


def action_in(space, text):
    """Text, or the last whole number in it where the environment wants one; a Problem is for the policy to read."""
    if space is None or not (hasattr(space, "n") and hasattr(space, "start")):
        return text
    low, high = int(space.start), int(space.start) + int(space.n) - 1
    found = re.findall(r"-?\d+", text)
    if found and low <= int(found[-1]) <= high:
        return int(found[-1])
    return Problem(f"The action must be a whole number from {low} to {high}.")


def observation_of(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(each, dict) and {"role", "content"} <= set(each) for each in value):
        return [{"role": str(each["role"]), "content": str(each["content"])} for each in value]
    return str(value)


def logged(info):
    """Numbers can be charted, texts looked at."""
    metrics, columns = {}, {}
    for name, value in itertools.islice(info.items(), 32):
        if isinstance(value, str):
            columns[str(name)[:100]] = value[:MOST_CHARACTERS]
        elif isinstance(value, (bool, int, float)) and math.isfinite(value):
            metrics[str(name)[:100]] = float(value)
    return {"metrics": metrics, "columns": columns}


episode_numbers = itertools.count()


def settled(code, key, episode):
    """The answer with the state that leads back to this place, also in another process."""
    if episode.is_over():
        episode.close()
    else:
        code.episodes[key] = episode
        if len(code.episodes) > MOST_LIVE_EPISODES:
            code.episodes.pop(next(iter(code.episodes))).close()
    state = {"key": key, "seed": episode.seed, "actions": list(episode.actions), "check": episode.check}
    return {"state": state, **episode.turn}


def reset(code, name, settings, start):
    key = f"{os.getpid()}-{next(episode_numbers)}"
    return settled(code, key, Episode(code, name, settings, start["row"], start["seed"]))


def step(code, name, settings, given):
    state = given["state"]
    episode = code.episodes.pop(state["key"], None)
    if episode is None or episode.actions != state["actions"]:
        episode = replayed(code, name, settings, given)
    episode.step(given["action"])
    return settled(code, state["key"], episode)


def replayed(code, name, settings, given):
    """The process was started again, or the episode goes on from an earlier turn a second time."""
    state = given["state"]
    episode = Episode(code, name, settings, given["row"], state["seed"])
    for action in state["actions"]:
        episode.step(action)
    if episode.check != state["check"]:
        raise Problem(
            "The episode cannot go on: played again with the same seed and actions, the environment answered differently."
        )
    return episode


# Data


def rows(code, name, settings, out):
    """Writes the rows that a function returns or yields, as JSON lines."""
    function = code.find(name)
    count = 0
    with open(out, "w", encoding="utf-8") as file:
        for row in function(**accepted(function, settings)):
            if not isinstance(row, dict):
                raise Problem(f"Row {count + 1} is no dict but {type(row).__name__}.")
            file.write(json.dumps(row, default=shown, allow_nan=False) + "\n")
            count += 1
    return {"rows": count}


def shown(value):
    """What JSON has no form for."""
    if value is None or isinstance(value, (bool, int, str, list, dict)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, (set, tuple)) else str(value)


# The protocol


def answers(code, request):
    """One answer per input of the request, as they become known."""
    call, name, settings = request["call"], request.get("name"), request.get("settings", {})
    if call == "load":
        yield settle(code, lambda: code.load(request["code"], request["file"], request["modules"], request["paths"], request["private"]))
    elif call == "describe":
        yield settle(code, lambda: describe(code, name, settings))
    elif call == "rows":
        yield settle(code, lambda: rows(code, name, settings, request["out"]))
    elif call == "score":
        try:
            yield {"samples": score(code, name, request["inputs"], settings)}
        except BaseException as error:
            yield code.failure(error)
    else:
        play = reset if call == "reset" else step
        for each in request["inputs"]:
            yield settle(code, lambda each=each: play(code, name, settings, each))


def read_requests(pipe, requests):
    private = None
    for line in pipe:
        request = json.loads(line)
        private = request.get("private", private)
        requests.put(request)
    # The host is gone. Programs that the code started go with it, and so does the folder that it made for them.
    if private is not None:
        shutil.rmtree(private, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def main():
    pipe = os.fdopen(os.dup(1), "wb")
    incoming = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdin = open(os.devnull)
    sys.stdout = printed = Printed()
    requests = queue.SimpleQueue()
    threading.Thread(target=read_requests, args=(incoming, requests), daemon=True).start()

    def say(message):
        try:
            text = json.dumps(message, default=shown, allow_nan=False)
        except (TypeError, ValueError) as error:
            failure = {"kind": "wrong-type", "message": f"The answer cannot be written as JSON: {error}", "line": None}
            text = json.dumps({"id": message["id"], "failure": failure})
        pipe.write(text.encode() + b"\n")
        pipe.flush()

    leave_environment_to_others()
    say({"id": 0, "python": list(sys.version_info[:3])})
    code = Code()
    while True:
        request = requests.get()
        for answer in answers(code, request):
            say({"id": request["id"], **answer, "lines": printed.take()})


if __name__ == "__main__":
    main()
