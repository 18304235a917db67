/** Questions with words that the rows do not have. */
import { beforeEach, expect, test } from "bun:test";
import { TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeEach(async () => {
  m = await TestMemory.open();
  await m.call("create_collection", { name: "notes", lexical: true });
  const texts = [
    "The Postgres version in production is 14.2",
    "Redis runs in staging as well as in production",
    "The staging cluster is in Frankfurt",
    "in the beginning there was a prototype",
  ];
  await m.call("add", { collection: "notes", texts, ids: ["postgres", "redis", "staging", "prototype"] });
  await m.call("build_lexical", { collection: "notes" });
});

const search = (query: string, more = {}) => m.call("search", { collection: "notes", query, ...more });
const byWords = (query: string, more = {}) => m.call("search_lexical", { collection: "notes", query, ...more });

test("a misspelt name is found, by words and fused, and the answer says as what it was searched", async () => {
  const notice = "'postgress' was searched as 'Postgres', 'prodution' as 'production'";
  const answer = await search("postgress version in prodution");
  expect([answer.hits[0].id, answer.notice]).toEqual(["postgres", notice]);
  const { hits, notice: said } = await byWords("postgress version in prodution", { explain: true });
  expect([hits[0].id, said]).toEqual(["postgres", notice]);
  expect(hits[0].explain).toContainEqual({ term: "postgr", score: expect.any(Number), instead_of: "postgress" });
  expect(hits[0].explain.map(({ instead_of }: { instead_of?: string }) => instead_of ?? null)).toEqual([
    null,
    null,
    "postgress",
    "prodution",
  ]);
  const sum = hits[0].explain.reduce((all: number, { score }: { score: number }) => all + score, 0);
  expect(sum).toBe(hits[0].score);
});

test("a misspelt word counts for less than the word itself", async () => {
  const right = (await byWords("postgres")).hits[0].score;
  const wrong = (await byWords("postgress")).hits[0].score;
  expect(wrong).toBeGreaterThan(0.65 * right);
  expect(wrong).toBeLessThan(0.75 * right);
});

test("a question without a known word is answered by similarity, and says so", async () => {
  const answer = await search("quetzal");
  expect(answer.hits.length).toBe(4);
  expect(answer.notice).toBe("none of the query's words is in 'notes': the answer is by similarity alone");
  const { hits, notice } = await byWords("quetzal");
  expect([hits, notice]).toEqual([[], "none of the query's words is in 'notes'"]);
});

test("a query without words has no hits, and the notice names what lists the newest rows", async () => {
  const notice = "the query has no words: svc_ids with newest lists the rows that were updated last";
  for (const query of ["", " \n\t", "...", "?!", "\u0301", "\u200b"]) {
    const answer = { collection: "notes", query, notice, hits: [] };
    expect(await search(query)).toEqual(answer);
    expect(await search(query, { where: { scope: "default" }, with_text: true, top_k: 1 })).toEqual(answer);
    expect(await byWords(query)).toEqual(answer);
  }
  // A sign that texts are found by is something to search for.
  await m.call("add", { collection: "notes", texts: ["deployed 🎉"], ids: ["party"] });
  expect((await search("🎉")).hits[0].id).toBe("party");
});

test("another word of like meaning is searched for, where the rows have one", async () => {
  const texts = ["the automobile is in the garage", "the bicycle is in the cellar"];
  await m.call("add", { collection: "home", texts, ids: ["automobile", "bicycle"] });
  const { hits, notice } = await m.call("search", { collection: "home", query: "where is my car" });
  expect([hits[0].id, notice]).toEqual(["automobile", "'car' was searched as 'automobile'"]);
  await m.call("add", { collection: "home", texts: ["a car that was sold"], ids: ["car"] });
  const later = await m.call("search", { collection: "home", query: "where is my car" });
  expect([later.hits[0].id, later.notice]).toEqual(["car", undefined]);
});

test("a word that the table of meanings has is not misspelt, though the rows have one like it", async () => {
  const texts = ["the windmill and the mill", "medicine is on the top shelf"];
  await m.call("add", { collection: "home", texts, ids: ["mill", "medicine"] });
  const { notice } = await m.call("search", { collection: "home", query: "where are the pills" });
  expect(notice ?? "").not.toContain("mill");
  const misspelt = await m.call("search", { collection: "home", query: "where is the wimdmill" });
  expect(misspelt.notice).toContain("mill");
});

test("a question with many known words is not asked with other words", async () => {
  const text = "the automobile in the garage of Oskar needs brakes, tyres, mirrors, wipers and headlights";
  await m.call("add", { collection: "home", texts: [text, "the bicycle"] });
  const ask = async (query: string) => (await m.call("search", { collection: "home", query })).notice;
  expect(await ask("does the car need brakes, tyres, mirrors or wipers")).toBe("'car' was searched as 'automobile'");
  expect(await ask("does Oskar's car need brakes, tyres, mirrors, wipers or headlights")).toBeUndefined();
});

test("what lies outside of the partition is not a partner", async () => {
  const metadata = [{ scope: "x" }, { scope: "y" }];
  await m.call("add", { collection: "scoped", texts: ["a wombat", "a wombat and an okapi"], metadata });
  const where = { scope: "x" };
  const inside = await m.call("search", { collection: "scoped", query: "okappi", where });
  expect(inside.notice ?? "").not.toContain("okapi");
  const other = await m.call("search", { collection: "scoped", query: "okappi", where: { scope: "y" } });
  expect(other.notice).toBe("'okappi' was searched as 'okapi'");
});

test("a long question has one notice for all there is to say", async () => {
  const { notice } = await byWords(`postgress ${"in ".repeat(30_000)}`);
  expect(notice).toMatch(/^the query is longer than .*; 'postgress' was searched as 'Postgres'$/);
});

test("where only other scopes have the words, the notice is about the scope, and names those words", async () => {
  const texts = ["we deploy blue green on Tuesdays", "the retro is on Friday", "la réunion du déploiement"];
  const metadata = [{ scope: "ops" }, { scope: "team" }, { scope: 7 }];
  await m.call("create_collection", { name: "memory", lexical: true, filter_columns: ["kind"] });
  await m.call("add", { collection: "memory", texts, metadata });
  await m.call("build_lexical", { collection: "memory" });
  const ask = async (verb: "search" | "search_lexical", query: string, where?: object) =>
    (await m.call(verb, { collection: "memory", query, where })).notice;
  const none = "none of the query's words is in";
  const alone = ": the answer is by similarity alone";
  const team = `${none} the rows of 'memory' with scope 'team'`;
  const others = "; rows with another scope have 'deploy'";
  expect(await ask("search", "deploy", { scope: "team" })).toBe(`${team}${alone}${others}`);
  expect(await ask("search_lexical", "deploy", { scope: "team" })).toBe(`${team}${others}`);
  // A scope without rows, and values that are not strings.
  expect(await ask("search", "deploy", { scope: "tema" })).toBe(
    "no row of 'memory' has scope 'tema'; nearest: 'team' (1 row)",
  );
  expect(await ask("search", "deploy", { scope: 7 })).toBe(
    `${none} the rows of 'memory' with scope 7${alone}${others}`,
  );
  // Words that no row has are not named; those that say most come first.
  const several = await ask("search_lexical", "quetzal xylophone deploy blue", { scope: "team" });
  expect(several).toMatch(
    /^none of .* with scope 'team'; rows with another scope have '(deploy|blue)' and '(deploy|blue)'$/,
  );
  expect(await ask("search", "Déploiement", { scope: "team" })).toEndWith("rows with another scope have 'Déploiement'");
  // Where no row has any of the words, the sentence is about the collection.
  expect(await ask("search", "quetzal", { scope: "team" })).toBe(`${none} 'memory'${alone}`);
  expect(await ask("search_lexical", "quetzal", { scope: "team" })).toBe(`${none} 'memory'`);
  expect(await ask("search", "quetzal")).toBe(`${none} 'memory'${alone}`);
  // Under another filter words are those of all rows.
  expect(await ask("search", "quetzal", { kind: null })).toBe(`${none} 'memory'${alone}`);
  expect(await ask("search", "deploy", { kind: null })).toBeUndefined();
});

test("a notice quotes a partition key that is not a plain word, and shortens a long value", async () => {
  const partition = { collection: "odd", partition_by: "the team" };
  const where = { "the team": `x\n${"y".repeat(200)}` };
  await m.call("upsert", { ...partition, texts: ["deploy"], ids: ["1"], metadata: [{ "the team": "a" }] });
  const { notice } = await m.call("search", { collection: "odd", query: "deploy", where });
  expect(notice).toBe(`no row of 'odd' has 'the team' 'x\\n${"y".repeat(75)}...'; there is 'a' (1 row)`);
});

test("a replaced word under a filter is replaced by words of the filtered rows", async () => {
  const texts = ["we deploy on Tuesdays", "we deplore the outage", "we deploy twice"];
  const metadata = [{ scope: "ops" }, { scope: "team" }, { scope: "night" }];
  await m.call("add", { collection: "memory", texts, metadata });
  const ask = async (scope: string) =>
    (await m.call("search", { collection: "memory", query: "deplyo", where: { scope } })).notice;
  expect(await ask("ops")).toBe("'deplyo' was searched as 'deploy'");
  expect(await ask("night")).toBe("'deplyo' was searched as 'deploy'");
  expect(await ask("team")).toBe("none of the query's words is in 'memory': the answer is by similarity alone");
});
