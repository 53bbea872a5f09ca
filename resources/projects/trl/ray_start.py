"""On a Ray cluster: `train` runs train.py beside this file in processes that Ray Train places, and prints for the job's log what
the first of them says. `stop` asks the processes of a job to stop after their step, with a checkpoint.
"""

import argparse
import json
import re
import runpy
import sys
import tempfile
import threading
from pathlib import Path

import ray
from ray.util.queue import Queue

NAMESPACE = "turnwise"


class QueueOutlet:
    """Takes what watch.py says in a process of Ray Train, whose own output Ray shortens and decorates."""

    def __init__(self, said, wishes):
        self.said = said
        self.wishes = wishes

    def write(self, lines):
        self.said.put("".join(lines))

    def is_stop_wanted(self):
        return not self.wishes.empty()


def train_here(queues):
    """In a process of Ray Train, on a thread of it."""
    # The working directory of the job is on the path of every process.
    places = [Path(place) / "trl" for place in sys.path]
    folder = next(place for place in places if (place / "ray_start.py").exists())
    sys.path[:0] = [str(folder), str(folder.parent / "watching")]
    import watch

    watch.outlet = QueueOutlet(*queues["queues"])
    sys.argv = [str(folder / "train.py")]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise RuntimeError(end.code) from end


def train(job, processes):
    from ray.train import RunConfig, ScalingConfig
    from ray.train.v2.api.exceptions import TrainingFailedError
    from ray.train.torch import TorchTrainer

    ray.init(namespace=NAMESPACE)
    arguments = json.loads((Path(__file__).parent / "watch.json").read_text(encoding="utf-8"))["arguments"]
    # Pieces wait in the cluster until this process has printed them.
    said = Queue(maxsize=64, actor_options={"num_cpus": 0})
    wishes = Queue(actor_options={"num_cpus": 0, "name": f"stop-{job}"})
    printer = threading.Thread(target=print_all, args=(said,))
    printer.start()
    uses_gpus = "--use_cpu" not in arguments
    with tempfile.TemporaryDirectory(prefix="turnwise-") as storage:
        try:
            TorchTrainer(
                train_here,
                train_loop_config={"queues": [said, wishes]},
                scaling_config=ScalingConfig(num_workers=processes, use_gpu=uses_gpus),
                run_config=RunConfig(name=job, storage_path=storage),
            ).fit()
        except TrainingFailedError as error:
            reason = reason_of(getattr(error, "worker_failures", {}))
            if reason is None:
                raise
            sys.exit(f"turnwise: {reason}")
        finally:
            said.put(None)
            printer.join()


def reason_of(failures):
    """What ended the training, by rank: a process that died rather than those that missed it. None where nobody can tell."""
    texts = {rank: str(failure) for rank, failure in failures.items()}
    for rank, text in texts.items():
        if "actor died" in text or "actor is dead" in text:
            host = re.search(r"hostname='([^']+)'", text)
            where = f" on {host[1]}" if host else ""
            return f"one of its processes on the Ray cluster died: rank {rank}{where}."
    found = [words for text in texts.values() for words in re.findall(r"turnwise: (.+)", text)]
    found += [line for text in texts.values() for line in re.findall(r"^[\w.]*(?:Error|Exception)\b: .+", text, re.MULTILINE)]
    own = [words for words in found if "onnection" not in words]
    return (own or found or [None])[0]


def print_all(said):
    while (text := said.get()) is not None:
        sys.stdout.write(text)
        sys.stdout.flush()


def stop(job):
    ray.init(namespace=NAMESPACE, log_to_driver=False)
    ray.get(ray.get_actor(f"stop-{job}").put_nowait.remote("stop"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["train", "stop"])
    parser.add_argument("--job", required=True)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    if given.what == "train":
        train(given.job, given.processes)
    else:
        stop(given.job)


if __name__ == "__main__":
    main()
