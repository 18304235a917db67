/** A file of meaning that is damaged, gone or another's: answers go on, a check names it, and a repair mends it. */
import { expect, test } from "bun:test";
import { copyFileSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../../src/api/local-store.ts";
import { fileWith } from "../../collection-files.ts";
import { damaged } from "../../complete-check.ts";
import { native, scratchDir } from "../../fixture.ts";
import { call } from "../../memory/calls.ts";
import { closedAtEnd } from "../../opened.ts";
import { hasModel, opened, sentences } from "./fixture.ts";

const ROWS = 7;
const query = "who mended the water pipe";

const flipped = (at: number) => (path: string) => {
  const bytes = readFileSync(path);
  bytes[at]! ^= 4;
  writeFileSync(path, bytes);
};
const ofAnother = (path: string) => copyFileSync(path.replace("notes", "others"), path);
const DAMAGES: [string, (path: string) => void][] = [
  ["cut", (path) => truncateSync(path, 300)],
  ["emptied", (path) => truncateSync(path, 0)],
  ["removed", (path) => rmSync(path)],
  ["a bit of the header", flipped(20)],
  ["a bit of a block's header", flipped(70)],
  ["a bit of a record", flipped(200)],
  ["the file of another collection", ofAnother],
];

test.skipIf(!hasModel)(
  "a damaged file of meaning loses no row; a check names it, and a repair rebuilds it",
  async () => {
    const whole = scratchDir();
    const writer = await opened(whole);
    await call(writer, "add", { collection: "notes", texts: sentences(ROWS) });
    await call(writer, "add", { collection: "others", texts: sentences(2 * ROWS).slice(ROWS) });
    await writer.close();
    damaged(whole);
    for (const [what, damage] of DAMAGES) {
      const dir = scratchDir();
      cpSync(whole, dir, { recursive: true });
      damage(fileWith(join(dir, "notes"), "meaning-"));
      damaged(dir);
      const store = closedAtEnd(new LocalStore(dir, await native(), "0.0.0-test"));
      const memory = await opened(dir);
      const asked = await call(memory, "search", { collection: "notes", query, top_k: ROWS });
      expect([what, (asked.hits as unknown[]).length]).toEqual([what, ROWS]);
      const built = { texts: ROWS, with_meaning: ROWS, added: ROWS };
      expect(await store.check({ names: ["notes"] })).toMatchObject([
        { sound: false, found: 1, damages: [{ part: "meaning", repair: expect.stringContaining("no row is lost") }] },
      ]);
      expect([what, await store.repair("notes")]).toMatchObject([what, { action: "rebuilt", lost_rows: 0 }]);
      expect(await store.check({ names: ["notes"] })).toMatchObject([{ sound: true }]);
      // None of the vectors that a repair could not trust are left.
      expect([what, await (await memory.terminal()).build_meaning({ collection: "notes" }, {})]).toMatchObject([
        what,
        built,
      ]);
      expect(await store.check({ names: ["notes"] })).toMatchObject([{ sound: true }]);
    }
  },
);

test.skipIf(!hasModel)(
  "rows that are saved from a damaged collection keep their vectors, or get them again",
  async () => {
    const dir = scratchDir();
    const memory = await opened(dir);
    await call(memory, "add", { collection: "notes", texts: sentences(ROWS) });
    await memory.close();
    damaged(dir);
    flipped(30)(fileWith(join(dir, "notes"), "base-"));
    const store = closedAtEnd(new LocalStore(dir, await native(), "0.0.0-test"));
    expect(await store.repair("notes")).toMatchObject({ action: "salvaged", to: "notes-repaired", lost_rows: 0 });
    const again = await (await opened(dir)).terminal();
    expect(await again.build_meaning({ collection: "notes-repaired" }, {})).toMatchObject({ with_meaning: ROWS });
    expect(await store.check({ names: ["notes-repaired"] })).toMatchObject([{ sound: true }]);
  },
);
