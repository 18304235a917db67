/** A plain copy of a collection's folder, made beside a busy writer, opens to a saved state or says what it is. */
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { damaged } from "../complete-check.ts";
import { openStore, scratchDir } from "../fixture.ts";
import { random } from "../random.ts";
import { startScript } from "../script.ts";

const COPIES = 100;
const WHY = /this folder is a copy that was made while it was being written/;

/** Copies the files one by one in a random order; what is gone meanwhile is not in the copy. */
async function copyInDisorder(from: string, to: string, next: () => number): Promise<void> {
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).map((name) => ({ name, key: next() }));
  for (const { name } of names.sort((a, b) => a.key - b.key)) {
    await Bun.sleep(next() * 6); // so that the writer saves between two files
    try {
      copyFileSync(join(from, name), join(to, name));
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe("ENOENT");
    }
  }
}

test("copies made while another process adds, deletes and compacts", async () => {
  const memory = scratchDir();
  const script = `
    const store = await openStore(process.argv[1]);
    const c = store.create("c", { dim: 4, lexical: true });
    const vectors = new Float32Array([1, 2, 3, 4]);
    for (let i = 0; ; i++) {
      await c.add({ ids: ["row " + i], vectors, texts: ["the text of row " + i] });
      if (i >= 50) await c.delete(["row " + (i - 50)]);
      if (i % 7 === 6) await c.compact();
      if (i === 60) console.log("busy");
    }`;
  const writer = await startScript(script, memory);
  const next = random(7);
  const copies = scratchDir();
  damaged(copies);
  // How many of them are whole depends on how fast the writer is beside the copies.
  for (let i = 0; i < COPIES; i++) {
    const dir = join(copies, String(i));
    await copyInDisorder(join(memory, "c"), join(dir, "c"), next);
    await expectStateOrReason(dir);
  }
  writer.kill("SIGKILL");
  await writer.exited;
  const last = join(copies, "last");
  await copyInDisorder(join(memory, "c"), join(last, "c"), next);
  expect(await expectStateOrReason(last)).toBe("state");
  // A copy may hold the base before the last compaction too.
  const bases = readdirSync(join(last, "c")).filter((name) => name.startsWith("base-"));
  expect(bases).not.toBeEmpty();
  for (const base of bases) rmSync(join(last, "c", base));
  expect(await expectStateOrReason(last)).toBe("reason");
}, 120_000);

/** Whether the copy opened. */
async function expectStateOrReason(dir: string): Promise<"state" | "reason"> {
  const store = await openStore(dir);
  try {
    const c = store.open("c");
    const rows = c.ids().map((id) => Number(id.slice("row ".length)));
    // Fifty or fifty-one rows, one after the other: each save is one of these.
    expect(rows).toEqual(Array.from({ length: rows.length }, (_, k) => rows[0]! + k));
    expect([50, 51]).toContain(rows.length);
    expect(c.get([`row ${rows[0]}`])[0]?.text).toBe(`the text of row ${rows[0]}`);
    return "state";
  } catch (error) {
    if (!(error instanceof OSError)) throw error;
    expect(error.message).toMatch(WHY);
    return "reason";
  } finally {
    await store.close();
  }
}
