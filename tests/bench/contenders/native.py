"""The cases of programs.py with PyTorch in a native CPython, on one thread: a line of JSON in, a line of JSON out.

In: {"make": kind, "n": n, "inputs": {name: base64 of float32}, "compiled": bool}, {"run": repetitions}, {"result": true}, {"version": true}.
Out: {"ok": …}: whether there is such a case, seconds, base64 of float32, a version; {"error": text}.
"""

import base64
import json
import os
import sys

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch  # noqa: E402

torch.set_num_threads(1)
torch.set_grad_enabled(False)
sys.modules["thirdbook"] = torch  # the programs are the same, whoever runs them
programs = {"__name__": "programs"}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs.py")
with open(path, encoding="utf-8") as file:
    exec(compile(file.read(), path, "exec"), programs)


def answer(question, task):
    """(what is said, the task from now on)"""
    if "make" in question:
        inputs = {name: base64.b64decode(data) for name, data in question["inputs"].items()}
        made = programs["prepare"](question["make"], question["n"], inputs, question["compiled"])
        return made is not None, made
    if "run" in question:
        return task.run_many(question["run"]), task
    if "result" in question:
        return base64.b64encode(bytes(task.result().contiguous().untyped_storage())).decode(), task
    return torch.__version__, task


def main():
    task = None
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a compiler says is no answer
    for line in sys.stdin:
        try:
            said, task = answer(json.loads(line), task)
            note = {"ok": said}
        except Exception as error:
            note = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(note), file=lines, flush=True)


if __name__ == "__main__":
    main()
