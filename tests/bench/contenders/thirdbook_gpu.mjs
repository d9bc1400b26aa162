// Thirdbook on WebGPU: the graphs of programs.py, exported in Pyodide and run as thirdbook/runtime runs them, with inputs that stay on the
// device. A run ends when the device has done the work.
import { async_ } from "../measure.mjs";

/** `lib`: where the package's modules are served. */
export async function open({ pyodide, programs, lib }) {
  const [{ GpuGraph }, { readExportFile }, { default: createRuntime }] = await Promise.all(
    ["webgpu/exported.js", "export_file.js", "thirdbook_runtime.mjs"].map(
      (name) => import(/* @vite-ignore */ `${lib}/${name}`),
    ),
  );
  const runtime = await createRuntime();
  const exported = pyodide.runPython(`${programs}\nexported`);
  const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return {
    name: "Thirdbook",
    version: pyodide.runPython("import thirdbook; thirdbook.__version__"),
    async task(spec) {
      const given = Object.fromEntries(
        Object.entries(spec.inputs).map(([name, data]) => [name, bytesOf(data)]),
      );
      const answer = exported(spec.kind, spec.n ?? 0, pyodide.toPy(given));
      if (!answer) return undefined;
      const [file, elements] = answer.toJs();
      const { header, graph } = readExportFile(file);
      const loaded = runtime.load(graph);
      const gpu = new GpuGraph(loaded, navigator.gpu);
      const layouts = header.inputs.map((input) => ("number" in input ? null : { shape: input.shape }));
      const { device, program } = await gpu.prepare(layouts);
      const { queue } = device.device;
      const inputs = elements.map((bytes, i) => {
        if (layouts[i] === null) return bytes;
        const buffer = device.pool.acquire(bytes.length);
        queue.writeBuffer(buffer, 0, bytes);
        return buffer;
      });
      const release = (buffers) => buffers.forEach((buffer) => device.pool.release(buffer));
      return {
        ...async_(async () => {
          release(await program.run(inputs));
          await queue.onSubmittedWorkDone();
        }),
        async result() {
          const buffers = await program.run(inputs);
          const [data] = await program.read(buffers);
          release(buffers);
          return new Float32Array(data.buffer, data.byteOffset, data.byteLength / 4);
        },
        close() {
          gpu.dispose();
          loaded.delete();
        },
      };
    },
  };
}
