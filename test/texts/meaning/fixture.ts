/** Collections of notes for tests of meaning, and the encoder of this checkout, if it was built. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type MemoryOptions, openMemory } from "../../../src/memory/open.ts";
import { SentenceEncoder } from "../../../src/texts/meaning/encoder.ts";
import { native, scratchDir } from "../../fixture.ts";
import { closedAtEnd } from "../../opened.ts";

/** False: the package with the encoder's weights is not installed. */
export const hasModel = existsSync(join(import.meta.dir, "../../../.build/meaning.bin"));

const SUBJECTS = ["the plumber", "our landlord", "a nurse", "the bakery", "my sister", "the council"];
const VERBS = ["repaired", "sold", "painted", "forgot", "cancelled"];
const OBJECTS = [
  "the kitchen tap",
  "two tickets",
  "a small boat",
  "the garden fence",
  "an old radio",
  "the car",
  "a cake",
];

/** Different English sentences. */
export function sentences(n: number): string[] {
  return Array.from({ length: n }, (_, i) => {
    const [s, v, o] = [SUBJECTS[i % 6], VERBS[Math.floor(i / 6) % 5], OBJECTS[Math.floor(i / 30) % 7]];
    return `${s} ${v} ${o} on day ${i}`;
  });
}

/** A memory as a process opens it, closed at the test's end. */
export async function opened(dir = scratchDir(), options: Partial<MemoryOptions> = {}) {
  const memory = await openMemory({ path: dir, native: await native(), home: dir, version: "0.0.0-test", ...options });
  return closedAtEnd(memory);
}

export async function encoder(): Promise<SentenceEncoder> {
  return new SentenceEncoder(await native());
}

/** Waits until `done`, for at most 50 seconds. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 50_000; !(await done()); await Bun.sleep(20)) {
    if (Date.now() > end) throw new Error("it did not happen");
  }
}
