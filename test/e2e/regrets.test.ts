/** Second thoughts, with the executable alone: undo, texts added twice, credentials, and collections made by an add. */
import { beforeAll, describe, expect, test } from "bun:test";
import { Screen } from "../cli/terminal.ts";
import { Session, SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

const mem = async (...args: string[]) => {
  const { code, out, err } = await svc(env, ["mem", ...args]);
  return { code, out, err };
};
const done = async (...args: string[]) => {
  const { code, out, err } = await mem(...args);
  if (code !== 0) throw new Error(`svc mem ${args.join(" ")} ended with ${code}: ${err}`);
  return out;
};
const json = async (...args: string[]) => JSON.parse(await done(...args, "--json"));

const drawn = (length: number, seed = 7) =>
  Array.from({ length }, (_, i) => "k3TzQ9wXb7RmLs4VfHy2NcJd8GpA6eUi"[(i * 11 + i * i * seed) % 32]).join("");
const TOKEN = "gh" + `p_${drawn(36)}`;

describe("undo", () => {
  test("after a delete, an upsert and an update; repeated it goes further back, but not past a compact", async () => {
    await done(
      "add",
      "notes",
      "we deploy blue green",
      "the retro is on Friday",
      "--ids",
      "a,b",
      "--metadata",
      '{"scope":"x"}',
    );
    const read = async () => {
      const { rows } = await json("get", "notes", "a", "b");
      const { hits } = await json("search", "notes", "deploy on Friday", "--with-score", "--with-text");
      return { rows: rows.map(({ updated, ...row }: { updated: number }) => row), hits };
    };
    const before = await read();
    const changes = [
      ["delete", "notes", "b", "a"],
      ["upsert", "notes", "other", "new", "--ids", "b,c"],
      ["update", "notes", "other", "--id", "a", "--metadata", '{"scope":"y"}'],
    ];
    for (const change of changes) {
      await done(...change);
      const plan = await json("undo", "notes", "--dry-run");
      const { dry_run, ...undone } = await json("undo", "notes", "--dry-run");
      expect([dry_run, plan]).toEqual([true, { ...undone, dry_run: true }]);
      expect(await json("undo", "notes")).toEqual(undone);
      const again = await mem("undo", "notes", "--save", String(undone.last));
      expect(again).toMatchObject({ code: 1, out: "" });
      expect(again.err).toContain(`save ${undone.last} of collection 'notes' was undone by save ${undone.last + 1}`);
      // What an upsert added is gone.
      expect(await done("ids", "notes")).not.toContain("c\n");
      expect(await read()).toEqual(before);
    }
    expect(await done("undo", "notes", "--dry-run")).toMatch(/^would undo save 1 of notes, from .*: 2 rows\n/);
    await done("undo", "notes");
    expect(await done("count", "notes")).toBe("0\n");
    expect((await mem("undo", "notes")).err).toContain("every save is undone already");
    const misspelt = await mem("undo", "notes", "--client", "termnial");
    expect(misspelt).toMatchObject({ code: 1, out: "" });
    expect(misspelt.err).toContain("no save of client 'termnial' to undo, but saves of 'terminal'");
    await done("compact", "notes");
    const late = await mem("undo", "notes");
    expect([late.code, late.err]).toEqual([
      1,
      expect.stringContaining("there is nothing to undo in collection 'notes'"),
    ]);
  });

  test("a delete of more rows than a tool takes at once is undone as a whole", async () => {
    const ids = Array.from({ length: 10_050 }, (_, i) => `r${i}`);
    await svc(env, ["mem", "import", "thousands"], ids.map((id) => JSON.stringify({ id, text: "" })).join("\n"));
    expect((await svc(env, ["mem", "delete", "thousands", "-"], ids.join("\n"))).out).toBe(
      "deleted 10050 rows from thousands\n",
    );
    expect((await svc(env, ["mem", "undo", "thousands"])).out).toMatch(
      /^undid save \d+ of thousands, from .*: 10050 rows\n/,
    );
    expect((await svc(env, ["mem", "count", "thousands"])).out).toBe("10050\n");
  });

  test("what a client deletes, the terminal puts back, and the client finds it", async () => {
    const session = await Session.open(env);
    const collection = "shared";
    await session.call("svc_add", { collection, texts: ["pagers rotate weekly", "retro"], ids: ["a", "b"] });
    await session.call("svc_delete", { collection, ids: ["a"] });
    await session.call("svc_add", { collection, texts: ["unrelated"], ids: ["c"] });
    expect(await done("undo", collection, "--save", "2")).toMatch(/^undid save 2 of shared, from .*: 1 row\n/);
    const { hits } = await session.call("svc_search", { collection, query: "who rotates pagers", top_k: 1 });
    expect(hits[0].id).toBe("a");
    await session.call("svc_delete", { collection, ids: ["a", "b"] });
    await session.call("svc_add", { collection, texts: ["again"], ids: ["b"] });
    const saveOf = async (at: number) => String((await json("history", collection)).saves[at].save);
    const deleted = await saveOf(1);
    expect(await done("undo", collection, "--save", deleted)).toContain(
      "b  was changed by a later save, and stays: --force",
    );
    await done("undo", collection, "--save", await saveOf(0));
    expect(await done("undo", collection, "--save", deleted, "--force")).toContain("which is undone too");
    expect((await session.call("svc_get", { collection, ids: ["b"] })).rows[0].text).toBe("retro");
  });

  describe("on a terminal", () => {
    const start = (...words: string[]) => new Screen([SVC, "mem", "undo", ...words], env);

    test("names what it takes back and what it leaves, and asks", async () => {
      await done("add", "asked", "blue", "green", "red", "--ids", "a,b,d");
      await done("delete", "asked", "a", "b");
      await done("add", "asked", "later", "--id", "b");
      for (const [keys, code, ids] of [
        ["n\n", 1, "d\nb\n"],
        ["\x04", 1, "d\nb\n"],
        ["y\n", 0, "d\nb\na\n"],
      ] as const) {
        using screen = start("asked", "--save", "2");
        await screen.until(/undo this\? y: /);
        expect(screen.text).toMatch(
          /would undo save 2 of asked, from .*: 1 row\r\n {2}a {2}was deleted, and would be back\r\n {2}b {2}was changed by a later save, and stays: --force undoes that too\r\nundo this\? /,
        );
        expect(await done("ids", "asked")).toBe("d\nb\n");
        screen.type(keys);
        expect(await screen.ended).toBe(code);
        expect(await done("ids", "asked")).toBe(ids);
      }
      using refused = start("asked", "--save", "2");
      expect(await refused.ended).toBe(1);
      expect(refused.text).not.toContain("undo this?");
      using unasked = start("asked", "--yes");
      expect(await unasked.ended).toBe(0);
      expect(unasked.text).not.toContain("undo this?");
      expect(await done("ids", "asked")).toBe("d\na\n");
    });

    test("another save before the answer: nothing is done unless it changed other rows", async () => {
      await done("add", "raced", "blue", "green", "--ids", "a,b");
      await done("delete", "raced", "a");
      const answered = async (...between: string[]) => {
        using screen = start("raced", "--save", "2");
        await screen.until(/undo this\? y: /);
        await done(...between);
        screen.type("y\n");
        return [await screen.ended, screen.text] as const;
      };
      const [refused, text] = await answered("add", "raced", "another", "--id", "a");
      expect(text).toContain("collection 'raced' was changed after the plan was listed, so nothing was undone");
      expect([refused, await done("get", "raced", "a")]).toEqual([1, expect.stringContaining("another")]);
      await done("undo", "raced", "--save", "3");
      const [code] = await answered("add", "raced", "later", "--id", "c");
      expect([code, await done("ids", "raced")]).toEqual([0, "b\nc\na\n"]);
    });
  });

  test("a kill leaves all of it or nothing", async () => {
    const lines = Array.from({ length: 1500 }, (_, i) => `note ${i} about deploys, retros and pagers`).join("\n");
    const ids = Array.from({ length: 1500 }, (_, i) => `n${i}`);
    await svc(env, ["mem", "add", "many", "--lines", "--ids", ids.join(",")], lines);
    const sound = async () => {
      const rows = Number(await done("count", "many"));
      if (rows > 0) expect(rows).toBe(1500);
      return rows;
    };
    for (const ms of [30, 50, 70, 90, 110]) {
      if ((await sound()) > 0) await svc(env, ["mem", "delete", "many", "-"], ids.join("\n"));
      const child = Bun.spawn([SVC, "mem", "undo", "many"], { env, stdout: "ignore", stderr: "ignore" });
      await Bun.sleep(ms);
      child.kill("SIGKILL");
      await child.exited;
    }
    if ((await sound()) === 0) await done("undo", "many");
    expect(await sound()).toBe(1500);
    expect((await mem("check", "many")).code).toBe(0);
  });
});

test("texts that are added twice are named to a client and on the terminal, or skipped", async () => {
  const session = await Session.open(env);
  const collection = "twice";
  const first = await session.call("svc_add", { collection, texts: ["we deploy blue green"] });
  expect(first).not.toContainKey("duplicates");
  const second = await session.call("svc_add", { collection, texts: ["new", "we deploy blue green"] });
  expect(second.duplicates).toEqual([{ index: 1, id: second.ids[1], of: first.ids[0] }]);
  const third = await session.call("svc_add", { collection, texts: ["new"], skip_duplicates: true });
  expect(third).toMatchObject({ added: 0, skipped: 1, ids: [second.ids[0]] });
  await session.close();
  const near = await mem("add", "twice", "we deploy blue green on Mondays", "--id", "near");
  expect(near.err).toStartWith(
    `text 1 (near) nearly repeats row ${first.ids[0]}: we deploy blue green\na stored row nearly has this text`,
  );
  expect(near.err).toContain("change the stored one by 'svc mem update'");
  const named = await mem("add", "twice", "new");
  expect(named.err).toStartWith(`text 1 is the same as that of ${second.ids[0]}: added as `);
  const skipped = await mem("add", "twice", "new", "other", "--skip-duplicates");
  expect(skipped.out).toStartWith("added 1 text to twice");
  expect(skipped.err).toContain(": skipped");
});

describe("credentials", () => {
  test("are stored, refused or masked, as the terminal says", async () => {
    const text = `the token is ${TOKEN}!`;
    const refused = await mem("add", "secret", text, "--secrets", "refuse");
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("text 1 holds a credential (GitHub token): take it out");
    expect(refused.err).not.toContain(TOKEN);
    expect(await done("list")).not.toContain("secret");
    const masked = await mem("add", "secret", text, "--id", "a", "--metadata", `{"k":"${TOKEN}"}`, "--secrets=mask");
    expect([masked.out, masked.err]).toEqual(["added 1 text to secret\n", "2 credentials masked\n"]);
    const { rows } = await json("get", "secret", "a");
    expect([rows[0].text, rows[0].metadata.k]).toEqual([
      "the token is [GitHub token removed]!",
      "[GitHub token removed]",
    ]);
    expect((await mem("update", "secret", text, "--id", "a", "--secrets", "refuse")).code).toBe(1);
    const stored = await mem("upsert", "secret", text, "--id", "a", "--secrets", "store");
    expect(stored.err).toContain("stored with a credential: text 1 (id 'a', GitHub token). The user can remove it");
    expect(stored.err).not.toContain(TOKEN);
    expect((await json("get", "secret", "a")).rows[0].text).toBe(text);
    expect((await mem("add", "secret", "x", "--secrets", "hide")).code).toBe(2);
  });

  test("a server refuses or masks those of every client", async () => {
    const call = { collection: "served", texts: ["fine", TOKEN], ids: ["a", "b"] };
    const strict = await Session.open(env, "--secrets", "refuse");
    const { text, isError } = await strict.raw("svc_add", call);
    expect([isError, text]).toEqual([
      true,
      expect.stringContaining("text 2 (id 'b') holds a credential (GitHub token)"),
    ]);
    expect((await strict.call("svc_list_collections")).collections).not.toContain("served");
    await strict.close();
    const mild = await Session.open(env, "--secrets=mask");
    expect(await mild.call("svc_upsert", call)).toEqual({ upserted: 2, collection: "served", masked: 1 });
    expect((await mild.call("svc_get", { collection: "served", ids: ["b"] })).rows[0].text).toBe(
      "[GitHub token removed]",
    );
    await mild.close();
  });
});

describe("an add says what its collection is like", () => {
  test("where it makes it", async () => {
    const flags = ["--lexical", "--filter-column", "kind", "--partition-by", "team"];
    await done("add", "made", "blue green", "--metadata", '{"kind":"k","team":"t"}', ...flags);
    const { stats } = await json("stats", "made");
    expect([stats.lexical, stats.filter_columns, stats.key_name]).toEqual([true, ["team", "kind"], "team"]);
    await done("upsert", "made too", "blue green", "--id", "a", "--lexical", "--filter-columns", "x, y");
    const too = (await json("stats", "made too")).stats;
    expect([too.lexical, too.filter_columns, too.key_name]).toEqual([true, ["scope", "x", "y"], "scope"]);
    // What is there and agrees is added to; what it has beside that stays.
    await done("add", "made", "more", "--lexical");
    await done("build-lexical", "made");
    expect(await done("search", "made", "green", "--lexical")).toContain("blue green");
  });

  test("one that is there must have it; a put that fails leaves none", async () => {
    await done("add", "plain", "blue green", "--id", "a");
    const lacking = await mem("add", "plain", "x", "--lexical", "--filter-column", "kind");
    expect([lacking.code, lacking.out]).toEqual([1, ""]);
    expect(lacking.err).toContain(
      "collection 'plain' exists already, without lexical search and filter column 'kind': " +
        "'svc mem alter plain --lexical --filter-column kind' adds it; nothing was written",
    );
    expect((await mem("add", "plain", "x", "--partition-by", "team")).err).toContain("partitioned by 'scope'");
    expect(await done("count", "plain")).toBe("1\n");
    expect((await mem("add", "never", "x", "y", "--ids", "a,a", "--lexical")).code).toBe(1);
    expect((await mem("add", "never", "x", "--metadata", '{"scope":{}}', "--id", "", "--lexical")).code).toBe(2);
    expect(await done("list")).not.toContain("never");
  });
});

test("an import skips texts that are there, and refuses or masks credentials", async () => {
  const lines = [
    { id: "a", text: "blue green", updated: 1_700_000_000_000 },
    { id: "b", text: `token ${TOKEN}`, metadata: { of: [TOKEN] } },
    { id: "c", text: "blue green" },
  ];
  const input = lines.map((line) => JSON.stringify(line)).join("\n");
  const load = (...flags: string[]) => svc(env, ["mem", "import", "loaded", ...flags], input);
  const refused = await load("--secrets", "refuse");
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringContaining("line 2: its text holds a credential (GitHub token)"),
  ]);
  expect(refused.err).not.toContain(TOKEN);
  expect(await done("list")).not.toContain("loaded");
  const left = await load("--secrets", "refuse", "--on-error", "skip", "--json");
  expect(JSON.parse(left.out)).toMatchObject({ imported: 2, bad: 1 });
  const skipping = await load("--secrets", "mask", "--skip-duplicates", "--json");
  expect(JSON.parse(skipping.out)).toMatchObject({ inserted: 1, unchanged: 2, masked: 2 });
  const again = await load("--secrets", "mask");
  expect([again.out, again.err]).toEqual([
    "imported 0 rows into loaded, 3 were there already\n",
    "2 credentials masked\n",
  ]);
  const { rows } = await json("get", "loaded", "a", "b");
  expect(rows[0].updated).toBe(1_700_000_000_000);
  expect(rows[1]).toMatchObject({ text: "token [GitHub token removed]", metadata: { of: ["[GitHub token removed]"] } });
  const more = await svc(
    env,
    ["mem", "import", "loaded", "--skip-duplicates"],
    JSON.stringify({ id: "d", text: "blue green" }),
  );
  expect([more.out, more.err]).toEqual(["imported 0 rows into loaded\n", "1 text of other rows skipped\n"]);
  expect(await done("count", "loaded")).toBe("3\n");
});
