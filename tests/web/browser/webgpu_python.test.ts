// In: programs in Pyodide in Chromium with the software adapter. Out: on the GPU they print what plain Python prints, and what is there
// stays there. Skipped, aloud, where Chromium has no adapter.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examples } from "../examples.ts";
import { GpuPage } from "./gpu.ts";

let gpu: GpuPage;
const hasAdapter = await GpuPage.isThere();
beforeAll(async () => {
  gpu = await GpuPage.open("gpu_python_page.mjs");
});
afterAll(() => gpu.close());

type PageGlobals = {
  runProgram(code: string, waits: boolean): Promise<string>;
  loseDevice(): Promise<void>;
};
function run(code: string, waits = true): Promise<string> {
  return gpu.page.evaluate(([text, wait]) => (globalThis as unknown as PageGlobals).runProgram(text, wait), [
    `import thirdbook as tb, torch\nfrom thirdbook import _gpu\ntb.reset()\n${code}`,
    waits,
  ] as const);
}
const loseDevice = () => gpu.page.evaluate(() => (globalThis as unknown as PageGlobals).loseDevice());

describe.skipIf(!hasAdapter)("in Pyodide", () => {
  test("a compiled function runs on the GPU and is read back only when someone reads", async () => {
    const text = await run(`
def f(x):
    return torch.tanh(x * 2 + 1).sum(dim=1)

x = torch.arange(6.0).reshape(2, 3)
y = tb.compile(f, backend="webgpu")(x)
before = _gpu.counters()
print(before["dispatches"], before["bytesRead"], _gpu._core._device_id(y) > 0, y.device)
print(torch.allclose(y, f(x), atol=1e-5))
print(_gpu.counters()["bytesRead"] - before["bytesRead"], _gpu._core._device_id(y), _gpu.last_fault())
`);
    expect(text).toBe("1 0 True cpu\nTrue\n8 -1 None\n");
  });

  test("tensors of the GPU stay there from call to call, and in the ledger", async () => {
    const text = await run(`
class Norm:
    def __init__(self):
        self.mean = torch.zeros(3, device="webgpu")
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        self.mean = self.mean * 0.9 + x.mean(dim=0) * 0.1
        return x - self.mean

norm, plain = Norm(), Norm()
step = tb.compile(norm)
x = torch.arange(6.0, device="webgpu").reshape(2, 3)
before = _gpu.counters().get("bytesRead", 0)
for _ in range(4):
    y = step(x)
print(norm.calls, norm.mean.device, _gpu._core._device_id(norm.mean) > 0, _gpu.counters()["bytesRead"] - before)
for _ in range(4):
    want = plain(x)
print(torch.allclose(norm.mean, plain.mean, atol=1e-5), torch.allclose(y, want, atol=1e-5))
print(tb.report()["counters"]["compilations"], tb.report()["counters"]["fallbacks"])
`);
    expect(text).toBe("4 webgpu True 0\nTrue True\n1 0\n");
  });

  test("an input that is written in place gets its value on the GPU; views of it agree", async () => {
    const text = await run(`
@tb.compile
def f(state, x):
    state.mul_(0.5).add_(x)

state = torch.ones(4).to("webgpu")
view = state[1:3]
x = torch.arange(4.0).to(tb.device("webgpu"))
before = _gpu.counters().get("bytesRead", 0)
f(state, x)
f(state, x)
print(_gpu._core._device_id(state) > 0, _gpu.counters()["bytesRead"] - before)
print(view.tolist(), state)
`);
    expect(text).toBe("True 0\n[1.75, 3.25] tensor([0.2500, 1.7500, 3.2500, 4.7500], device='webgpu')\n");
  });

  test("eager operations, printing, item() and indexing read what is on the GPU", async () => {
    const text = await run(`
@tb.compile(backend="webgpu")
def f(x):
    return x * 3

y = f(torch.arange(4.0))
print(y + 1, float(y[2]), y.sum().item(), bool(y[0] == 0), list(y[1:].tolist()))
z = f(torch.arange(4.0).to("webgpu"))
print((z + 1).device, z.cpu().device, z.cpu().tolist(), z.to(torch.int32))
`);
    expect(text).toBe(
      "tensor([ 1.,  4.,  7., 10.]) 6.0 18.0 True [3.0, 6.0, 9.0]\n" +
        "webgpu cpu [0.0, 3.0, 6.0, 9.0] tensor([0, 3, 6, 9], device='webgpu', dtype=torch.int32)\n",
    );
  });

  test("a module goes to the GPU with its parameters, which are written there once", async () => {
    const text = await run(`
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
x = torch.randn(3, 5)
want = model(x)
model.to("webgpu")
fast = tb.compile(model)
fast(x.to("webgpu"))
before = _gpu.counters()
got = fast(x.to("webgpu"))
after = _gpu.counters()
print(after["bytesWritten"] - before["bytesWritten"], after["dispatches"] - before["dispatches"], got.device)
print(torch.allclose(got.cpu(), want, atol=1e-5), next(model.parameters()).device)
`);
    expect(text).toBe("60 2 webgpu\nTrue webgpu\n");
  });

  test("looking up reads the indices back and nothing else; one that is out of range is PyTorch's error", async () => {
    const text = await run(`
table = torch.arange(4000.0, device="webgpu").reshape(1000, 4)
f = tb.compile(lambda ids, table: torch.nn.functional.embedding(ids, table) * 2)
ids = torch.tensor([[1, 999], [0, 2]])
f(ids, table)
before = _gpu.counters()
y = f(ids, table)  # the host has the indices
there = f(ids.to("webgpu"), table)
after = _gpu.counters()
print(after["bytesRead"] - before["bytesRead"], after["dispatches"] - before["dispatches"])
print(torch.equal(y.cpu(), there.cpu()), y[0, 1].tolist())
for wrong in (torch.tensor([1000]), torch.tensor([-1]).to("webgpu")):
    try:
        f(wrong, table)
    except IndexError as error:
        print(error)
`);
    const lines = text.split("\n").filter((line) => !line.startsWith("WebGPU: the CPU runs it instead"));
    expect(lines).toEqual([
      "32 4",
      "True [7992.0, 7994.0, 7996.0, 7998.0]",
      "index out of range in self",
      "index out of range in self",
      "",
    ]);
  });

  test("float16 storage is a setting", async () => {
    const text = await run(`
x = torch.linspace(-1, 1, 64, device="webgpu").reshape(8, 8)
f = lambda x: ((x @ x) * 3).relu() @ x
exact = tb.compile(f, backend="webgpu")(x).cpu()
with tb.config.patch(gpu_storage="float16"):
    tb.reset()
    stored = tb.compile(f, backend="webgpu")(x).cpu()
print(torch.allclose(exact, f(x.cpu()), atol=1e-5), torch.allclose(stored, exact, atol=2e-2))
text = " ".join(s["text"] for c in tb.report()["compilations"] for g in c["graphs"] for s in g.get("shaders", []))
print("enable f16;" in text, torch.equal(stored, exact))
try:
    tb.config.gpu_storage = "int8"
except ValueError as error:
    print(error)
`);
    const halves = (await gpu.features()).includes("shader-f16");
    expect(text).toBe(
      `True True\n${halves ? "True False" : "False True"}\nunknown storage 'int8'; there are float32, float16\n`,
    );
  });

  test("auto measures both sides once, takes the faster one, and leaves what was in memory there", async () => {
    const text = await run(`
from thirdbook import _device_choice as choice
f = tb.compile(lambda a: (a @ a).relu())
x = torch.linspace(-1, 1, 512 * 512).reshape(512, 512)
want = torch.relu(x @ x)
f(x)
measured = choice.costs
print(all(cost >= 0 for cost in measured), 0 < measured.gpu_start < 60, measured.cpu_product > 0)
print(choice.faster(measured, 512**3, 512**2, 8 * 512**2))  # this adapter is software, whatever it says
dispatches = _gpu.counters()["dispatches"]
f(x)
print(_gpu.counters()["dispatches"] - dispatches, choice.costs is measured)

choice.costs = choice.Costs(1, 1, 0, 0, 0, 0)  # as if the GPU cost nothing
g = tb.compile(lambda a: (a @ a).relu() + 0)
y = g(x)
print(_gpu.counters()["dispatches"] - dispatches, _gpu._core._device_id(y), y.device, torch.allclose(y, want, atol=1e-3))
small = torch.ones(8)
dispatches = _gpu.counters()["dispatches"]
tb.compile(lambda a: a + 1)(small)
print(_gpu.counters()["dispatches"] - dispatches, tb.report()["counters"]["fallbacks"])

import asyncio
async def other():
    await asyncio.sleep(0)
task = asyncio.ensure_future(other())
g(x)
print(_gpu.counters()["dispatches"] - dispatches, task.done())
choice.costs = None
`);
    expect(text).toBe("True True True\nFalse\n0 True\n1 -1 cpu True\n0 0\n0 False\n");
  });

  test("where Python cannot wait: one clear error, and cpu_async()", async () => {
    const text = await run(
      `
import asyncio

@tb.compile(backend="webgpu")
def f(x):
    return x + 1

y = f(torch.arange(3.0))
async def later():
    print((await y.cpu_async()).tolist())
import js
from pyodide.ffi import create_once_callable
def callback():
    try:
        y.tolist()
    except RuntimeError as error:
        print(error)
js.kept = create_once_callable(callback)
js.eval("kept()")  # JavaScript on the stack: nothing can wait across it
await later()
print(f(torch.arange(3.0)).tolist())
`,
    );
    expect(text).toBe(
      "the elements are on the GPU and Python cannot wait for them here: use `await tensor.cpu_async()`, or start the program with runPythonAsync() in an engine that has JSPI\n" +
        "[1.0, 2.0, 3.0]\n[1.0, 2.0, 3.0]\n",
    );
  });

  test("started where it cannot wait, a program runs on the CPU and says why", async () => {
    const text = await run(
      `
@tb.compile(backend="webgpu")
def f(x):
    return x + 1

print(f(torch.arange(3.0)).tolist(), tb.report()["counters"]["fallbacks"])
print(_gpu.last_fault() == _gpu.CANNOT_WAIT)
`,
      false,
    );
    expect(text.split("\n").slice(-3)).toEqual(["[1.0, 2.0, 3.0] 1", "True", ""]);
  });

  test("a device that is lost: the CPU runs the graph with its effects; what only the GPU had is lost aloud", async () => {
    const setUp = await run(`
log = []

@tb.compile(backend="webgpu")
def f(x):
    log.append(x.shape[0])
    return x * 2

print(f(torch.arange(3.0)).tolist(), log)
import builtins
builtins.kept = (f, log, f(torch.arange(2.0)))
`);
    expect(setUp).toBe("[0.0, 2.0, 4.0] [3]\n");
    await loseDevice();
    const text = await run(`
import builtins
f, log, only_there = builtins.kept
print(f(torch.arange(4.0)).tolist(), log, tb.report()["counters"]["fallbacks"])
print(only_there.tolist())
`);
    expect(text).toContain("[0.0, 2.0, 4.0, 6.0] [3, 2, 4]");
    expect(text).toContain("RuntimeError: the elements of a tensor on the GPU are lost");
  });

  test.each(examples.map(({ file, source }) => [file, source]))(
    "%s prints the same on the GPU",
    async (_, source) => {
      // Decorators away: plain Python.
      const plain = source.replace(/@(torch|tb|thirdbook)\.compile(\(.*\))?$/gm, "");
      expect(await run(`tb.config.backend = "webgpu"\n${source}\ntb.config.backend = "auto"`)).toBe(
        await run(plain),
      );
    },
  );
});
