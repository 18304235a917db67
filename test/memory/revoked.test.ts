/** A memory that is open while its device is revoked: the next call refuses, and what was changed before is saved. */
import { expect, test } from "bun:test";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { PermissionError } from "../../src/errors.ts";
import { TOOLS } from "../../src/mcp/tools.ts";
import { openMemory } from "../../src/memory/open.ts";
import { native, scratchDir } from "../fixture.ts";
import { failure } from "../trust/account/helpers.ts";
import { CALLS, call } from "./calls.ts";

const SAID = "this device was revoked at https://svc.example.org on 2026-11-23: ask its administrator";

async function guarded() {
  const state = { isRevoked: false };
  const refuseUse = () => {
    if (state.isRevoked) throw new PermissionError(SAID, "device_revoked");
  };
  return { libraries: { ...(await native()), refuseUse }, state };
}

test.each([true, false])(
  "every tool refuses with the sentence, and works once it is allowed (index on disk: %p)",
  async (persistentIndex) => {
    const [dir, repository] = [scratchDir(), realpathSync(scratchDir())];
    writeFileSync(join(repository, "parser.ts"), "export function parseManifest() {}\n");
    const { libraries, state } = await guarded();
    const given = { native: libraries, home: dir, version: "0.0.0-test", persistentIndex, path: dir };
    const memory = await openMemory(given);
    await call(memory, "create_collection", { name: "words", lexical: true });
    await call(memory, "add", { collection: "notes", texts: ["We deploy blue-green."], ids: ["deploy"] });
    await call(memory, "repo_search", { query: "manifest", workspace: repository });
    state.isRevoked = true;
    const named = { index_repo: { path: repository }, repo_search: { workspace: repository } };
    for (const { verb } of TOOLS) {
      const args = { ...CALLS[verb], ...(named as Record<string, object>)[verb] };
      const error = await failure(() => call(memory, verb, args));
      expect([verb, error.message]).toEqual([verb, SAID]);
    }
    // Without a repository too.
    expect((await failure(() => call(memory, "workspace_info", {}))).message).toBe(SAID);
    state.isRevoked = false;
    expect(await call(memory, "get", CALLS.get)).toBeDefined();
    await memory.close();
  },
);

test("a store refuses reads, changes and new collections; what was staged before is saved at its end", async () => {
  const dir = scratchDir();
  const { libraries, state } = await guarded();
  const store = new LocalStore(dir, libraries, "0.0.0-test");
  const notes = await store.createCollection("notes", { dim: 2 });
  await notes.add(new Float32Array([1, 0]), { ids: ["a"] });
  await notes.save();
  await notes.add(new Float32Array([0, 1]), { ids: ["b"] });
  state.isRevoked = true;
  for (const action of [
    () => notes.search(new Float32Array([1, 0])),
    () => notes.get(["a"]),
    () => notes.add(new Float32Array([1, 1]), { ids: ["c"] }),
    () => store.collections(),
    () => store.openCollection("notes"),
    () => store.createCollection("more", { dim: 2 }),
  ])
    expect(await failure(action)).toMatchObject({ message: SAID, code: "PermissionError.device_revoked" });
  expect((await store.saveAll()).size).toBe(0);
  await store.close();
  state.isRevoked = false;
  const again = new LocalStore(dir, libraries, "0.0.0-test");
  expect(await (await again.openCollection("notes")).count()).toBe(2);
  await again.close();
});
