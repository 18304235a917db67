/** What surprised people and agents: the same answer from the tools and on the terminal, by the executable. */
import { expect, test } from "bun:test";
import { type Ended, sharedSession, svc } from "./home.ts";

const shared = sharedSession();
const mem = (...words: string[]): Promise<Ended> => svc(shared.env, ["mem", ...words]);

test("a memory without collections, then the name that was meant", async () => {
  const missing = "ValueError: collection 'notse' does not exist";
  const count = () => shared.session.raw("svc_count", { collection: "notse" });
  expect(await count()).toEqual({
    text: `${missing}, and there are no collections yet: svc_add makes it`,
    isError: true,
  });
  const texts = ["we deploy blue green", "the retro is on Friday", "the build is green"];
  const metadata = [{ scope: "ops", by: "ann" }, { scope: "team" }, { scope: "ops" }];
  await shared.session.call("svc_add", { collection: "notes", ids: ["deploy", "retro", "build"], texts, metadata });
  expect(await count()).toEqual({ text: `${missing}, did you mean 'notes'?`, isError: true });
  expect((await mem("count", "notse")).err).toBe("svc: collection 'notse' does not exist, did you mean 'notes'?\n");
});

test("the newest of a batch is its last row, by the tool, on the terminal and in an export", async () => {
  expect((await shared.session.call("svc_ids", { collection: "notes", newest: 1 })).ids).toEqual(["build"]);
  expect((await mem("ids", "notes", "--newest", "2")).out).toBe("build\nretro\n");
  const { out } = await mem("export", "notes", "--newest", "2");
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id),
  ).toEqual(["build", "retro"]);
});

test("words that only another scope has", async () => {
  const notice =
    "none of the query's words is in the rows of 'notes' with scope 'team': the answer is by meaning alone; " +
    "rows with another scope have 'deploy'";
  const asked = { collection: "notes", query: "deploy", where: { scope: "team" } };
  expect((await shared.session.call("svc_search", asked)).notice).toBe(notice);
  expect((await mem("search", "notes", "deploy", "--where", "scope=team")).err).toBe(`${notice}\n`);
});

test("an empty text is refused and an empty query finds nothing", async () => {
  const refused = await shared.session.raw("svc_upsert", {
    collection: "notes",
    ids: ["deploy", "x"],
    texts: ["a", ""],
  });
  expect(refused).toEqual({
    text: "ValueError: texts[1] is empty: give it some words, or leave it out",
    isError: true,
  });
  expect((await mem("add", "notes", "")).err).toContain("text 1 is empty: give it some words");
  // More than one call takes: the number is that of the command line.
  const many = Array<string>(10_001).fill("x");
  expect((await mem("add", "notes", ...many, "")).err).toContain("text 10002 is empty: give it some words");
  expect((await shared.session.call("svc_count", { collection: "notes" })).count).toBe(3);
  expect(await shared.session.call("svc_search", { collection: "notes", query: "" })).toEqual({
    collection: "notes",
    query: "",
    notice: "the query has no words: svc_ids with newest lists the rows that were updated last",
    hits: [],
  });
  const { code, out, err } = await mem("search", "notes", "");
  const notice = "the query has no words: 'svc mem ids --newest 10 notes' lists the rows that were updated last";
  expect({ code, out, err }).toEqual({ code: 0, out: "", err: `${notice}\nno hits\n` });
});

test("an upsert that takes metadata away says so", async () => {
  const lost = "1 replaced row had metadata and has none now, 1 moved to scope 'default'";
  const upsert = { collection: "notes", ids: ["deploy"], texts: ["we deploy canaries"] };
  expect((await shared.session.call("svc_upsert", upsert)).notice).toBe(`${lost}: svc_update keeps metadata`);
  const { err } = await mem("upsert", "notes", "no retro", "--id", "retro");
  expect(err).toBe(`${lost}: 'svc mem update' keeps metadata\n`);
});
