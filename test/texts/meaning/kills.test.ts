import { expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Store } from "../../../src/store/store.ts";
import { native, scratchDir } from "../../fixture.ts";
import { call } from "../../memory/calls.ts";
import { closedAtEnd } from "../../opened.ts";
import { encoder, hasModel, opened, sentences } from "./fixture.ts";

test.skipIf(!hasModel)(
  "a process killed while it fills loses a batch at most, before each call",
  async () => {
    const whole = scratchDir();
    const memory = await opened(whole);
    await call(memory, "add", { collection: "notes", texts: sentences(12) });
    await memory.close();
    const child = join(import.meta.dir, "kill-child.ts");
    const run = (dir: string, env: Record<string, string>) =>
      Bun.spawn([process.execPath, child, dir], { env: { ...process.env, ...env }, stdout: "ignore" }).exited;
    const log = join(scratchDir(), "steps");
    await run(scratchCopy(whole), { STEPS_LOG: log });
    const steps = readFileSync(log, "utf8").trim().split("\n");
    expect(steps).toEqual([...Array(3).fill(["encodeMeaning", "begin", "putMeaning", "save"]).flat(), "encodeMeaning"]);
    const one = await encoder();
    await one.load();
    // The first and the second batch; the third is no other.
    for (const [i, name] of steps.slice(0, 8).entries()) {
      const dir = scratchCopy(whole);
      expect(await run(dir, { KILL_AT: String(i + 1) })).not.toBe(0);
      const store = closedAtEnd(new Store(dir, (await native()).env, "0.0.0-test"));
      const collection = store.open("notes");
      expect([name, collection.stats().meaning_rows]).toEqual([name, i < 4 ? 0 : 4]);
      await collection.verify();
    }
  },
  60_000,
);

function scratchCopy(from: string): string {
  const dir = scratchDir();
  cpSync(from, dir, { recursive: true });
  return dir;
}
