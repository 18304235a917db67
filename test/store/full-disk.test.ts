/** A memory on a disk that is full: what fails, what still works, and what is said. Needs a file system of its own. */
import { expect, test } from "bun:test";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { openStore, TestMemory } from "../fixture.ts";
import { SmallDisk } from "../small-disk.ts";

const disk = new SmallDisk("6m");

const text = (i: number) =>
  `memory number ${i}: ${Array.from({ length: 30 }, (_, j) => `word${(i * 31 + j * 7) % 997}`)}`;

test.skipIf(!disk.isPossible)(
  "a full disk: an add fails and loses nothing, deletes work, a compaction says its room",
  async () => {
    const dir = join(disk.path, "memory");
    const ballast = () => statSync(join(dir, "notes/.ballast")).size;
    const m = await TestMemory.open(dir);
    const ids = Array.from({ length: 900 }, (_, i) => `row-${i}`);
    await m.call("add", { collection: "notes", texts: ids.map((_, i) => text(i)), ids });
    expect(ballast()).toBe(64 * 1024);
    const free = disk.fill();

    let live = ids.length;
    const add = () => m.call("add", { collection: "notes", texts: [text(live)], ids: [`more-${live}`] });
    const failed = await (async () => {
      for (;;) {
        const error = await add().then(
          () => undefined,
          (reason) => reason,
        );
        if (error) return error;
        live++;
      }
    })();
    expect(failed).toBeInstanceOf(OSError);
    expect(failed.code).toBe("OSError.disk_full");
    expect(failed.message).toMatch(
      /the disk is full: free some space and try again; collection 'notes' stands as last saved$/,
    );
    const count = async () => (await m.call("count", { collection: "notes" })).count;
    expect(await count()).toBe(live);

    for (let i = 0; i < 200; i++) {
      expect(await m.call("delete", { collection: "notes", ids: [ids[i]] })).toMatchObject({ deleted: 1 });
    }
    expect(await count()).toBe(live - 200);
    const fresh = await openStore(dir);
    expect(fresh.open("notes").count()).toBe(live - 200);
    await fresh.close();

    const files = readdirSync(join(dir, "notes")).sort();
    const refused = await m.call("compact", { collection: "notes" }).catch((error) => error);
    expect(refused.code).toBe("OSError.disk_full");
    expect(refused.message).toMatch(
      /^compaction needs about \d\.\d MiB on the disk of the memory directory, and 0\.\d MiB are free: free some space and try again; collection 'notes' stands as last saved$/,
    );
    expect(readdirSync(join(dir, "notes")).sort()).toEqual(files);

    free();
    expect(await m.call("delete", { collection: "notes", ids: [ids[200]] })).toMatchObject({ deleted: 1 });
    expect(ballast()).toBe(64 * 1024);
    await m.call("compact", { collection: "notes" });
    await add();
    expect(await count()).toBe(live - 200);
    const found = await m.call("search", { collection: "notes", query: text(300) });
    expect(found.hits[0].id).toBe("row-300");
    await m.close();
  },
  120_000,
);

test.skipIf(!disk.isPossible)(
  "several memories on one full disk: each deletes by its own ballast",
  async () => {
    const names = ["a", "b", "c"];
    const dir = join(disk.path, "shared");
    const m = await TestMemory.open(dir);
    for (const collection of names) {
      const ids = Array.from({ length: 150 }, (_, i) => `${i}`);
      await m.call("add", { collection, texts: ids.map((id) => `note ${id}`), ids });
    }
    const free = disk.fill();
    for (let i = 0; i < 120; i++) {
      for (const collection of names) await m.call("delete", { collection, ids: [`${i}`] });
    }
    free();
    for (const collection of names) expect((await m.call("count", { collection })).count).toBe(30);
    await m.close();
    rmSync(dir, { recursive: true });
  },
  120_000,
);
