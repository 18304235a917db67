/** The executable goes on where a file of a collection is truncated while it is open: that collection's calls fail. */
import { beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session, signedIn } from "./home.ts";

let home: Record<string, string>;
beforeAll(async () => {
  home = await signedIn();
});

test.each(["base", "delta"])("a truncated %s under `svc mcp`", async (kind) => {
  const memory = mkdtempSync(join(tmpdir(), "svc-truncated-"));
  const session = await Session.open(home, "--path", memory);
  const add = (collection: string, prefix: string, n: number) =>
    session.call("svc_add", {
      collection,
      ids: Array.from({ length: n }, (_, i) => `${prefix} ${i}`),
      texts: Array.from({ length: n }, (_, i) => `a note about ${prefix} number ${i} and its neighbours`),
    });
  await add("hurt", "ships", 400);
  await add("hurt", "later ships", 100);
  await add("whole", "trees", 50);
  const search = (collection: string) => session.call("svc_search", { collection, query: "note about number 7" });
  const before = await search("hurt");
  const dir = join(memory, "hurt");
  const name = readdirSync(dir).find((file) => file.startsWith(`${kind}-`))!;
  const bytes = readFileSync(join(dir, name));
  truncateSync(join(dir, name), 0);
  const said = new RegExp(`OSError: collection 'hurt' is damaged: ${name} ends at offset 0 of `);
  await expect(search("hurt")).rejects.toThrow(said);
  await expect(search("hurt")).rejects.toThrow(said);
  await expect(add("hurt", "more ships", 3)).rejects.toThrow(/OSError: collection 'hurt' is damaged: /);
  expect(JSON.stringify(await search("whole"))).toContain("trees 7");
  writeFileSync(join(dir, name), bytes);
  expect(await search("hurt")).toEqual(before);
});
