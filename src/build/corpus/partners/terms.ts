/** Words as the kernel's terms. */
import { join, resolve } from "node:path";
import { platformTag } from "../../../paths.ts";
import { buildProgram } from "../../program.ts";

const ROOT = resolve(import.meta.dir, "../../../..");

/** The terms of each text, which holds no line break, in order. @throws Error where the program fails */
export async function termsOf(texts: readonly string[]): Promise<string[][]> {
  const options = { root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! };
  const program = await buildProgram(options, "src/build/corpus/partners/tokens.c");
  const { stdout, stderr, success } = Bun.spawnSync([program], { stdin: Buffer.from(`${texts.join("\n")}\n`) });
  if (!success) throw new Error(`tokens: ${stderr.toString().trim()}`);
  const lines = stdout.toString().split("\n").slice(0, texts.length);
  return lines.map((line) => (line === "" ? [] : line.split(" ")));
}
