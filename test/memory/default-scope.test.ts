/** `svc mcp --project`: which scope rows get that name none, and whose rows a search gives first. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { defaultScope } from "../../src/memory/default-scope.ts";
import type { NamedWorkspaces } from "../../src/memory/repos/workspaces.ts";
import { TestMemory } from "../fixture.ts";
import { temporary } from "../repo/helpers.ts";

const OURS = "host/acme/shop";
const inProject = { project: OURS };

function checkout(remote: string): string {
  const top = join(temporary(), "top");
  mkdirSync(top);
  spawnSync("git", ["init", "-q"], { cwd: top });
  spawnSync("git", ["remote", "add", "origin", remote], { cwd: top });
  return top;
}

async function metadataOf(m: TestMemory, collection: string, ids: string[]) {
  const { rows } = await m.call("get", { collection, ids });
  return rows.map((row: { metadata?: object }) => row.metadata);
}

describe("rows", () => {
  test("that name no scope get the project's, others keep theirs", async () => {
    const m = await TestMemory.open();
    const ids = ["a", "b", "c", "d"];
    const metadata = [{}, { kind: "fact" }, { scope: "work" }, { scope: null }];
    await m.call("add", { collection: "n", texts: ["one", "two", "three", "four"], ids, metadata }, inProject);
    const scopes = [{ scope: OURS }, { kind: "fact", scope: OURS }, { scope: "work" }, { scope: null }];
    expect(await metadataOf(m, "n", ids)).toEqual(scopes);
    await m.call("upsert", { collection: "n", texts: ["five"], ids: ["e"] }, inProject);
    await m.call("add", { collection: "n", texts: ["six"], ids: ["f"] });
    expect(await metadataOf(m, "n", ["e", "f"])).toEqual([{ scope: OURS }, undefined]);
    expect((await m.call("count", { collection: "n", where: { scope: OURS } })).count).toBe(3);
  });

  test("of an update keep their metadata, or their scope with new ones", async () => {
    const m = await TestMemory.open();
    await m.call("add", { collection: "n", texts: ["one", "two"], ids: ["a", "b"], metadata: [{ scope: "work" }, {}] });
    await m.call("update", { collection: "n", texts: ["more", "more"], ids: ["a", "b"] }, inProject);
    expect(await metadataOf(m, "n", ["a", "b"])).toEqual([{ scope: "work" }, { scope: "default" }]);
    const metadata = [{ kind: "fact" }, { scope: OURS }];
    await m.call("update", { collection: "n", texts: ["more", "more"], ids: ["a", "b"], metadata }, inProject);
    expect(await metadataOf(m, "n", ["a", "b"])).toEqual([{ kind: "fact", scope: "work" }, { scope: OURS }]);
  });

  test("of a collection with another partition key are left alone", async () => {
    const m = await TestMemory.open();
    const row = { collection: "n", texts: ["one"], ids: ["a"], partition_by: "author" };
    await m.call("upsert", { ...row, metadata: [{ kind: "fact" }] }, inProject);
    await m.call("add", { collection: "n", texts: ["two"], ids: ["b"] }, inProject);
    expect(await metadataOf(m, "n", ["a", "b"])).toEqual([{ kind: "fact", author: "default" }, undefined]);
  });

  test("that an upsert replaces keep their scope, of whatever type; others of the call get the project's", async () => {
    const m = await TestMemory.open();
    const scopes = [{ scope: "work" }, { scope: 7 }, { scope: null }, null, { kind: "fact" }];
    const texts = scopes.map((_, i) => `text ${i}`);
    const ids = texts.map((_, i) => `${i}`);
    await m.call("add", { collection: "n", texts, ids, metadata: scopes });
    const metadata = [null, { kind: "new" }, null, null, {}, null];
    const upsert = { collection: "n", texts: [...texts, "new"], ids: [...ids, "new"], metadata };
    expect((await m.call("upsert", upsert, inProject)).notice).toBeUndefined();
    expect(await metadataOf(m, "n", [...ids, "new"])).toEqual([
      { scope: "work" },
      { kind: "new", scope: 7 },
      { scope: null },
      { scope: "default" },
      { scope: "default" },
      { scope: OURS },
    ]);
    for (const [scope, count] of [
      ["work", 1],
      [7, 1],
      [null, 1],
      ["default", 2],
      [OURS, 1],
    ] as const) {
      expect(await m.call("count", { collection: "n", where: { scope } })).toMatchObject({ count });
    }
  });

  test("that an upsert takes other metadata from are in the notice", async () => {
    const m = await TestMemory.open();
    const texts = ["one", "two"];
    await m.call("add", { collection: "n", texts, ids: ["a", "b"], metadata: [{ scope: "work", kind: "fact" }, {}] });
    const upsert = { collection: "n", texts: ["three", "three"], ids: ["a", "c"] };
    const said = "1 replaced row had metadata and has only the scope left: svc_update keeps metadata";
    expect((await m.call("upsert", { ...upsert, skip_duplicates: true }, inProject)).notice).toBe(said);
    expect(await metadataOf(m, "n", ["a", "b", "c"])).toEqual([{ scope: "work" }, { scope: "default" }, undefined]);
    expect((await m.call("upsert", upsert, inProject)).notice).toBeUndefined();
    expect(await metadataOf(m, "n", ["a", "c"])).toEqual([{ scope: "work" }, { scope: OURS }]);
  });

  test("that nearly have a new text are looked for in the scope that its row keeps", async () => {
    const m = await TestMemory.open();
    const text = "The deploy runs every Tuesday at nine from the release branch, and Ann watches it.";
    await m.call("add", {
      collection: "n",
      texts: [text, "x"],
      ids: ["a", "b"],
      metadata: [{ scope: "work" }, { scope: "work" }],
    });
    const near = { collection: "n", texts: [text.replace("nine", "ten")], ids: ["b"] };
    const { similar } = await m.call("upsert", near, inProject);
    expect(similar).toMatchObject([{ id: "b", of: "a" }]);
  });
});

describe("searches", () => {
  const texts = ["deploy with Jenkins", "deploy with make", "deploy with care", "deploy with a script"];
  const metadata = [{ scope: "other" }, { scope: OURS }, { scope: "default" }, { scope: OURS }];
  const ids = ["other", "ours 1", "default", "ours 2"];
  const idsOf = ({ hits }: { hits: { id: string }[] }) => hits.map(({ id }) => id);

  async function memory(dir?: string): Promise<TestMemory> {
    const m = await TestMemory.open(dir);
    await m.call("create_collection", { name: "n", lexical: true });
    await m.call("add", { collection: "n", texts, ids, metadata });
    await m.call("build_lexical", { collection: "n" });
    return m;
  }

  test.each(["search", "search_lexical"] as const)(
    "%s: without where the project is first, page by page",
    async (verb) => {
      const m = await memory();
      const ask = { collection: "n", query: "deploy" };
      const all = idsOf(await m.call(verb, ask, inProject));
      expect(all.slice(0, 2).sort()).toEqual(["ours 1", "ours 2"]);
      expect(all.slice(2)).toEqual(["default", "other"]);
      expect(idsOf(await m.call(verb, { ...ask, where: { scope: "other" } }, inProject))).toEqual(["other"]);
      // Long metadata, so that an answer has room for few hits.
      const padded = metadata.map((one) => ({ ...one, pad: "x".repeat(400) }));
      await m.call("update", { collection: "n", texts, ids, metadata: padded });
      const given: string[] = [];
      for (let after: string | undefined, pages = 0; pages < 9; pages++) {
        const page = await m.call(verb, { ...ask, max_bytes: 1000, after }, inProject);
        given.push(...idsOf(page));
        after = page.next;
        if (after === undefined) break;
      }
      expect(given).toEqual(idsOf(await m.call(verb, ask, inProject)));
    },
  );

  test("two clients of one project share its rows", async () => {
    const one = await memory();
    const other = await TestMemory.open(one.dir);
    await one.call("add", { collection: "n", texts: ["deploy with fastlane"], ids: ["new"] }, inProject);
    const { hits } = await other.call("search", { collection: "n", query: "deploy with fastlane" }, inProject);
    expect(hits[0]).toMatchObject({ id: "new", metadata: { scope: OURS } });
  });
});

describe("auto", () => {
  const SHOP = "https://host/acme/shop";
  const scope = (named: NamedWorkspaces, ...roots: string[]) =>
    defaultScope("auto", named, [])({ roots: async () => ({ paths: roots }) });

  test("follows the workspace: flag, variable, CLAUDE_PROJECT_DIR, roots, working directory", async () => {
    const named = ["flag", "environment", "projectDir", "root"].map((name) => checkout(`https://host/${name}`));
    const [flag, environment, projectDir, root] = named as [string, string, string, string];
    expect(await scope({ flag, environment, projectDir }, root)).toBe("host/flag");
    expect(await scope({ environment, projectDir }, root)).toBe("host/environment");
    expect(await scope({ projectDir }, root)).toBe("host/projectDir");
    expect(await scope({}, "/", join(root, "gone"), root)).toBe("host/root");
    const before = process.cwd();
    process.chdir(flag);
    try {
      expect(await scope({})).toBe("host/flag");
      expect(await scope({ projectDir: "/gone" })).toBe("host/flag");
      process.chdir("/");
      expect(await scope({})).toBeUndefined();
    } finally {
      process.chdir(before);
    }
  });

  test("is looked for in each call, through links, until the folder is gone", async () => {
    const top = checkout(SHOP);
    const link = join(temporary(), "link");
    symlinkSync(top, link);
    const flag = defaultScope("auto", { flag: link }, []);
    expect(await flag({})).toBe(OURS);
    spawnSync("git", ["remote", "set-url", "origin", "https://host/acme/renamed"], { cwd: top });
    expect(await flag({})).toBe("host/acme/renamed");
    rmSync(top, { recursive: true });
    expect(await flag({})).toBeUndefined();
    expect(await scope({ flag: "/" })).toBeUndefined();
    expect(await defaultScope("auto", { flag: checkout(SHOP) }, ["/"])({})).toBeUndefined();
  });
});

test("a scope can be named, within its bounds", async () => {
  expect(await defaultScope("🦊 shop", { flag: "/gone" }, [])({})).toBe("🦊 shop");
  expect(() => defaultScope(" ", {}, [])).toThrow(
    "--project ' ' is not a scope: give a name without control characters",
  );
  expect(() => defaultScope("a\nb", {}, [])).toThrow("without control characters");
  expect(() => defaultScope("x".repeat(513), {}, [])).toThrow("--project has 513 bytes of UTF-8; the limit is 512");
});
