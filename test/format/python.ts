/** The reader in another language, reader.py, as a process. */
import { join } from "node:path";
import { closedAfterFile } from "../opened.ts";
import type { Remembered } from "./saves.ts";

const READER = join(import.meta.dir, "reader.py");
const python = Bun.which("python3");

/** Whether there is a Python with numpy. */
export const canRead = python !== null && Bun.spawnSync([python, "-c", "import numpy"]).success;

/** What it finds in a collection: rows and saves, or why it refuses it. */
interface Read {
  said: string;
  rows: Record<string, unknown>[];
  saves: Remembered[];
}

/** One process for the folders of a file of tests: nearly all of its time is the import of numpy. */
class Reader {
  /** A warning is a refusal. */
  private readonly child = Bun.spawn([python!, "-B", "-W", "error", READER], { stdin: "pipe", stdout: "pipe" });
  private readonly lines = this.child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  private left = "";

  async read(folder: string): Promise<Read> {
    this.child.stdin.write(`${folder}\n`);
    this.child.stdin.flush();
    while (!this.left.includes("\n")) {
      const { value, done } = await this.lines.read();
      if (done) throw new Error(`reader.py ended with ${await this.child.exited}`);
      this.left += value;
    }
    const [line, ...more] = this.left.split("\n");
    this.left = more.join("\n");
    return JSON.parse(line!);
  }

  async close(): Promise<void> {
    reader = undefined;
    this.child.stdin.end();
    await this.child.exited;
  }
}

let reader: Reader | undefined;

/** What it reads of a collection's rows and saves. */
export function readByPython(folder: string): Promise<Read> {
  reader ??= closedAfterFile(new Reader());
  return reader.read(folder);
}
