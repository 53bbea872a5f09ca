"""Beside Turnwise: submits the project as a job to a Ray cluster, prints the job's log as it grows, and ends as the job does.

A lost connection is made again, and what was printed already is passed over. A file `stop` in this folder is passed on to the
job. When the pipe of standard input ends, a second process, which outlives this one, stops the job.

`ask` runs a few lines of Python on the cluster instead.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

# Seconds without news after which the cluster is asked whether it is there, at most.
SILENCE = 15
# Characters of the log that are looked through for the reason of an end.
TAIL = 50_000
# Files whose job may still run after this machine lost its power.
JOB_FILE = Path("ray_job")
STOP_FILE = Path("stop")
PASSED_ON = (
    "ELECTRON_RUN_AS_NODE",
    "HF_HUB_DISABLE_TELEMETRY",
    "HF_HUB_OFFLINE",
    "OMP_NUM_THREADS",
    "PYTHONIOENCODING",
    "TURNWISE_NODE",
)


def give_up(sentence):
    """Turnwise takes a line that begins so for the reason of the end."""
    sys.stdout.flush()
    print(f"turnwise: {sentence}", file=sys.stderr, flush=True)
    # A thread may still wait for an answer.
    os._exit(1)


def connect(address):
    from ray.job_submission import JobSubmissionClient

    try:
        return JobSubmissionClient(address)
    except (ConnectionError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        give_up(f"no Ray cluster answers at {address} ({reason}).")


def runtime_env(given, folder):
    """What the person's file says, with the project as working directory."""
    own = {}
    if given is not None:
        import yaml

        own = yaml.safe_load(Path(given).read_text(encoding="utf-8")) or {}
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    passed["RAY_COLOR_PREFIX"] = "0"
    return {
        "excludes": ["trl/output", "**/__pycache__", "trl/ray_job"],
        **own,
        "working_dir": str(folder),
        "env_vars": {**passed, **own.get("env_vars", {})},
    }


def is_over(status):
    return status.is_terminal()


def stop_earlier(client):
    """Of the same run: a job that lost its Turnwise together with this machine."""
    if not JOB_FILE.exists():
        return
    try:
        client.stop_job(JOB_FILE.read_text(encoding="utf-8").strip())
    except RuntimeError:
        pass  # The cluster does not know it any more.


def start_guard(address, job):
    """Outlives this process, so that an end of Turnwise ends the job too."""
    words = [sys.executable, os.path.abspath(__file__), "guard", "--address", address, "--job", job]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def guard(address, job):
    while os.read(0, 1024):
        pass
    # The job may just have been submitted, and the cluster may not answer for a while.
    for _ in range(20):
        try:
            from ray.job_submission import JobSubmissionClient

            JobSubmissionClient(address).stop_job(job)
            return
        except (ConnectionError, RuntimeError):
            time.sleep(3)


def submit(given):
    client = connect(given.address)
    stop_earlier(client)
    job = f"turnwise-{uuid.uuid4().hex[:12]}"
    watcher = start_guard(given.address, job)
    entrypoint = f"python trl/ray_start.py train --job {job} --processes {given.processes}"
    JOB_FILE.write_text(job, encoding="utf-8")
    try:
        client.submit_job(
            entrypoint=entrypoint,
            submission_id=job,
            runtime_env=runtime_env(given.runtime_env, Path.cwd().parent),
        )
    except (RuntimeError, ValueError, ConnectionError) as error:
        watcher.terminate()
        give_up(f"Ray does not take the job: {str(error).strip().splitlines()[-1]}")
    print(f"Job {job} at {given.address}", flush=True)
    following = Following(client, job, given)
    status, message = asyncio.run(following.follow())
    watcher.terminate()
    JOB_FILE.unlink(missing_ok=True)
    if status == "SUCCEEDED":
        os._exit(0)
    if status == "STOPPED":
        give_up("the job was stopped on the cluster.")
    # ray_start.py says why, but what other processes print may come after it.
    reasons = re.findall(r"^turnwise: (.+)$", following.tail, re.MULTILINE)
    give_up(reasons[-1] if reasons else f"Ray: {message.split(', last available logs')[0]}.")


class Following:
    """The log of a job, printed once, whatever becomes of the connection."""

    def __init__(self, client, job, given):
        self.client = client
        self.job = job
        self.given = given
        self.silence = min(SILENCE, given.patience / 3)
        # Characters of the log that were printed.
        self.cursor = 0
        self.last_answer = time.monotonic()
        self.is_warned = False
        self.tail = ""

    async def follow(self):
        asker = asyncio.create_task(self.pass_stop_on())
        try:
            while True:
                await self.read_on()
                info = await self.look()
                if info is not None and is_over(info.status):
                    return str(info.status), (info.message or "").strip().split("\n")[0]
                await asyncio.sleep(1)
        finally:
            asker.cancel()

    async def read_on(self):
        """Until the connection ends."""
        news = asyncio.Queue()

        async def read():
            try:
                async for text in self.client.tail_job_logs(self.job):
                    await news.put(text)
            except Exception as error:  # noqa: BLE001 - whatever it is, the connection is made again
                logging.debug("%s", error)
            await news.put(None)

        reader = asyncio.create_task(read())
        passed = 0
        try:
            while True:
                try:
                    text = await asyncio.wait_for(news.get(), self.silence)
                except asyncio.TimeoutError:
                    if await self.look() is None:
                        return
                    continue
                if text is None:
                    return
                self.hear_again()
                new = text[max(0, self.cursor - passed) :]
                passed += len(text)
                self.cursor = max(self.cursor, passed)
                self.tail = (self.tail + new)[-TAIL:]
                sys.stdout.write(new)
                sys.stdout.flush()
        finally:
            reader.cancel()

    async def look(self):
        """What the cluster says of the job; None where it does not answer. Ends this process where it has not for long."""
        from ray.job_submission import JobSubmissionClient

        def ask():
            return JobSubmissionClient(self.given.address).get_job_info(self.job)

        try:
            info = await asyncio.wait_for(in_thread(ask), self.silence)
            self.hear_again()
            return info
        except RuntimeError as error:
            if "does not exist" in str(error):
                give_up("the Ray cluster does not know the job any more; it was started anew, or the job was deleted.")
        except (asyncio.TimeoutError, ConnectionError, OSError):
            pass
        silent = time.monotonic() - self.last_answer
        if silent > self.given.patience:
            give_up(f"the Ray cluster at {self.given.address} has not answered for {round(silent)} s.")
        if not self.is_warned:
            self.is_warned = True
            say_here(f"The Ray cluster at {self.given.address} does not answer; the job is waited for.")
        return None

    def hear_again(self):
        if self.is_warned:
            say_here(f"The Ray cluster answers again after {round(time.monotonic() - self.last_answer)} s.")
        self.is_warned = False
        self.last_answer = time.monotonic()

    async def pass_stop_on(self):
        while not STOP_FILE.exists():
            await asyncio.sleep(0.3)
        while True:
            try:
                await in_thread(self.ask_to_stop)
                return
            except (RuntimeError, ConnectionError, OSError):
                await asyncio.sleep(3)

    def ask_to_stop(self):
        from ray.job_submission import JobSubmissionClient

        client = JobSubmissionClient(self.given.address)
        info = client.get_job_info(self.job)
        if is_over(info.status):
            return
        script = (Path(__file__).parent / "ray_start.py").read_text(encoding="utf-8")
        words = ["python", "-c", script, "stop", "--job", self.job]
        wish = client.submit_job(entrypoint=shlex.join(words))
        if wait_for(client, wish) != "SUCCEEDED":
            # It does not train yet.
            raise RuntimeError("The job did not hear of it.")


def in_thread(function):
    """A future of what it returns. One that never returns keeps nothing else waiting, as in a pool of threads."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(set_outcome, outcome):
        if not future.done():
            set_outcome(outcome)

    def run():
        try:
            outcome = (future.set_result, function())
        except Exception as error:  # noqa: BLE001 - it is raised where the future is awaited
            outcome = (future.set_exception, error)
        loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, daemon=True).start()
    return future


def say_here(message):
    mark = json.loads((Path(__file__).resolve().parent / "watch.json").read_text(encoding="utf-8"))["mark"]
    print(f"@turnwise {mark} warning {json.dumps(message)}", flush=True)


def wait_for(client, job):
    while not is_over(status := client.get_job_status(job)):
        time.sleep(0.5)
    return str(status)


def ask(given):
    """Prints what some code prints there."""
    client = connect(given.address)
    own = {"runtime_env": runtime_env(given.runtime_env, ".")} if given.runtime_env else {}
    if own:
        del own["runtime_env"]["working_dir"], own["runtime_env"]["excludes"]
    job = client.submit_job(entrypoint=shlex.join(["python", "-c", given.code]), **own)
    status = wait_for(client, job)
    logs = client.get_job_logs(job).strip()
    if status != "SUCCEEDED":
        sys.exit((logs or client.get_job_info(job).message or status).split("\n")[-1])
    print(logs.split("\n")[-1])


def main():
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.disable(logging.INFO)
    parser = argparse.ArgumentParser(description="Submits a project to a Ray cluster.")
    parser.add_argument("what", choices=["train", "guard", "ask"])
    parser.add_argument("--address", required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--patience", type=float, default=300, help="seconds that the cluster may not answer")
    parser.add_argument("--runtime-env")
    parser.add_argument("--job")
    parser.add_argument("--code")
    given = parser.parse_args()
    if given.what == "guard":
        guard(given.address, given.job)
    elif given.what == "ask":
        ask(given)
    else:
        submit(given)


if __name__ == "__main__":
    main()
