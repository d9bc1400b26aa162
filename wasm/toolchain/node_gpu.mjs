// In: the npm package webgpu, and Chromium's software adapter where it is installed. Out: a WebGPU for Node, undefined where there is no
// adapter; and what the environment of a process must have for it.
// Invariant: nothing is loaded before someone asks; a machine's own adapter is preferred.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

const kChromium = "/usr/lib/chromium";
const kDriver = join(kChromium, "vk_swiftshader_icd.json");

/** Variables for a child process that wants nodeGpu(): the loader is looked for where they say when the process starts. */
export function gpuEnvironment() {
  if (!existsSync(kDriver)) return {};
  const folders = [process.env.LD_LIBRARY_PATH, kChromium].filter(Boolean).join(delimiter);
  return { VK_ICD_FILENAMES: process.env.VK_ICD_FILENAMES ?? kDriver, LD_LIBRARY_PATH: folders };
}

export async function nodeGpu() {
  try {
    const { create } = await import("webgpu");
    const gpu = create([]);
    return (await gpu.requestAdapter()) === null ? undefined : gpu;
  } catch {
    return undefined;
  }
}
