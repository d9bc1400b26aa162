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
