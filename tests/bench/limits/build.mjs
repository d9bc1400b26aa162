// In: kernels.c and the LLVM of set-up. Out: build/bench/limits.wasm and limits-relaxed.wasm, made anew when the source is newer.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cache, kBuild } from "../../../wasm/toolchain/places.mjs";

const here = dirname(fileURLToPath(import.meta.url));

export function buildLimits() {
  const folder = join(kBuild, "bench");
  mkdirSync(folder, { recursive: true });
  const source = join(here, "kernels.c");
  const compile = [
    "--target=wasm32",
    "-O3",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-ffp-contract=off",
    "-mbulk-memory",
    "-msimd128",
  ];
  const link = ["--no-entry", "--import-memory", "-z", "stack-size=65536"];
  const out = {};
  for (const [name, extra] of [
    ["limits", []],
    ["limits-relaxed", ["-mrelaxed-simd", "-DRELAXED"]],
  ]) {
    const object = join(folder, `${name}.o`);
    out[name] = join(folder, `${name}.wasm`);
    if (existsSync(out[name]) && statSync(out[name]).mtimeMs > statSync(source).mtimeMs) continue;
    execFileSync(join(cache.llvm, "bin/clang"), [...compile, ...extra, "-c", source, "-o", object], {
      stdio: "inherit",
    });
    execFileSync(join(cache.llvm, "bin/wasm-ld"), [...link, object, "-o", out[name]], { stdio: "inherit" });
  }
  return { plain: out.limits, relaxed: out["limits-relaxed"] };
}
