/** The reader in another language, reader.py, as a process. */
import { join } from "node:path";

const READER = join(import.meta.dir, "reader.py");
const python = Bun.which("python3");

/** Whether there is a Python with numpy. */
export const canRead = python !== null && Bun.spawnSync([python, "-c", "import numpy"]).success;

/** What it prints of a collection's rows, and to stderr where it refuses it. */
export async function readByPython(folder: string): Promise<{ said: string; rows: Record<string, unknown>[] }> {
  const child = Bun.spawn([python!, "-B", READER, folder], { stdout: "pipe", stderr: "pipe" });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const [, ...lines] = out.trim().split("\n");
  return { said, rows: (await child.exited) === 0 ? lines.map((line) => JSON.parse(line)) : [] };
}
