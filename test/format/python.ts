/** The reader in another language, reader.py, as a process. */
import { join } from "node:path";
import type { Remembered } from "./saves.ts";

const READER = join(import.meta.dir, "reader.py");
const python = Bun.which("python3");

/** Whether there is a Python with numpy. */
export const canRead = python !== null && Bun.spawnSync([python, "-c", "import numpy"]).success;

/** What it prints of a collection's rows and saves, and to stderr where it refuses it. */
export async function readByPython(
  folder: string,
): Promise<{ said: string; rows: Record<string, unknown>[]; saves: Remembered[] }> {
  const child = Bun.spawn([python!, "-B", READER, folder], { stdout: "pipe", stderr: "pipe" });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) return { said, rows: [], saves: [] };
  const [head, ...lines] = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { said, rows: lines.slice(0, head.rows), saves: lines.slice(head.rows) };
}
