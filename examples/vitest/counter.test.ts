// What Vitest can assert about a stateful Python function: see docs/tests.md.
import { describe, expect } from "vitest";
import { test } from "thirdbook/vitest";

const kCounter = `
  import torch

  log = []

  class Model(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.calls = 0

      def forward(self, x):
          self.calls += 1
          log.append(self.calls)
          return x * 2

  model = torch.compile(Model())
  for i in range(5):
      y = model(torch.full((3,), float(i)))
`;

describe("a module that counts its calls", () => {
  test("has the effects of plain Python", ({ python }) => {
    expect(python.program(kCounter)).toMatchEager({ tolerance: 1e-6 });
  });

  test("is compiled once, without a graph break", ({ python }) => {
    const program = python.program(kCounter);
    expect(program).toHaveNoGraphBreaks();
    expect(program).toCompileTimes(1);
  });

  test("writes down both mutations, in the order of the program", ({ python }) => {
    const program = python.program(kCounter);
    expect(program).toHaveMutations([
      { kind: "attribute-existing", line: 11 },
      { kind: "value-existing", line: 12 },
    ]);
  });
});

describe("a function that keeps a log", () => {
  const kLog = `
    import torch

    log = []

    @torch.compile
    def f(x):
        log.append(x.shape[0])
        log.append("done")
        return x + 1

    f(torch.zeros(2))
  `;

  test("replays its changes after the graph, as one entry", ({ python }) => {
    expect(python.program(kLog)).toReplayAs(["G['log'] list.append"]);
  });

  test("has this report", ({ python }) => {
    expect(python.program(kLog).report).toMatchInlineSnapshot(`
      ── #1 f (program.py:5) · compiled · call
        graph
          %0 = input L['x'] f32[2]
          %1 = constant 1 (weak int64)
          %2 = add(%0, %1) f32[2]
          return %2
        guards
          type(G['log']) is list   (line 7)
          L['x']: float32[2]   (line 7)
          thirdbook.Size.__getitem__ unchanged   (line 7)
          gradients and the default dtype as they were
        ledger
          1. value-existing  G['log']  list.append  [] → 2, 'done'   (program.py:7:4-26, program.py:8:4-22)
        graph breaks
          none
    `);
  });

  test("finds nothing that another test has left", ({ python }) => {
    expect(python.program('print("log" in globals())').compiled().stdout).toBe("False\n");
  });
});

describe("a function that asks for a tensor's value", () => {
  test("breaks the graph at that line", ({ python }) => {
    const program = python.program(`
      import torch

      @torch.compile
      def f(x):
          y = x + 1
          if float(y.sum()) > 0:
              return y
          return -y

      print(f(torch.ones(2)).tolist())
    `);
    expect(program).toHaveGraphBreak({ line: 6 });
    expect(program).toMatchEager();
  });
});
