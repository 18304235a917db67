/** The pages of a memory that `svc serve` has: 19 verbs, and no files. */
import { beforeAll, expect, test } from "bun:test";
import { openRemoteVerbs } from "../../src/remote/client/verbs.ts";
import { closedAtEnd } from "../opened.ts";
import { TestServer } from "../remote/server/raw.ts";
import { type Browsing, browsing } from "./opened.ts";

let person: Browsing;
let reader: Browsing;
beforeAll(async () => {
  const server = closedAtEnd(await TestServer.start({ tcp: true }));
  const noFiles = () => Promise.reject(new Error("no verb is local here"));
  const token = async () => server.token;
  const remote = await openRemoteVerbs({
    address: server.address,
    token,
    tls: undefined,
    timeoutMs: 5000,
    secrets: undefined,
    local: noFiles,
  });
  closedAtEnd(remote);
  const texts = ["one", "two", "three"];
  const raw = await server.open();
  await raw.ok("call_tool", undefined, {
    name: "svc_add",
    arguments: { collection: "notes", texts, metadata: texts.map((scope) => ({ scope })) },
  });
  const site = { verbs: remote.verbs, local: undefined, memory: server.address };
  person = await browsing(undefined, site);
  reader = await browsing(undefined, { ...site, readOnly: true });
});

test("the list has names, rows and times, and says what a server lacks here", async () => {
  const { body, status } = await person.get("/");
  expect(status).toBe(200);
  expect(body).toContain("One collection");
  expect(body).toContain("less than a minute ago");
  expect(body).toContain("A server has it:");
  for (const path of ["/repositories", "/files", "/health"]) expect(body).not.toContain(`href="${path}"`);
});

test("pages that need files are refused with a sentence", async () => {
  for (const path of ["/repositories", "/repositories/search?repo=x", "/files", "/health", "/c/notes/export"]) {
    const { status, body } = await person.get(path);
    expect({ path, status }).toEqual({ path, status: 404 });
    expect(body).toContain("A server has this memory");
  }
  expect((await person.post("/files/backup", { folder: "/tmp/x" })).status).toBe(404);
});

test("a row can be deleted, and not edited: a server has no edit that refuses what changed meanwhile", async () => {
  const [, id] = /row\?id=([\w-]+)/.exec((await person.get("/c/notes")).body) ?? [];
  const { body } = await person.get(`/c/notes/row?id=${id}`);
  expect(body).toContain(`/c/notes/delete?id=${id}`);
  expect(body).not.toContain("/c/notes/edit");
  expect(await person.get(`/c/notes/edit?id=${id}`)).toMatchObject({ status: 400 });
});

test("settings show figures and scopes, and compact; nothing else is offered or taken", async () => {
  const { body } = await person.get("/c/notes/settings");
  expect(body).toContain("<dt>Rows</dt><dd>3</dd>");
  expect(body).toContain("Rows by scope");
  for (const action of ["describe", "meaning", "rename", "drop"]) expect(body).not.toContain(`value="${action}"`);
  const compacted = await person.post("/c/notes/settings", { do: "compact" });
  expect(compacted.body).toContain("Compacted.");
  const others: Record<string, string>[] = [
    { do: "drop", confirm: "notes" },
    { do: "rename", to: "x" },
  ];
  for (const fields of others) {
    const { status, body } = await person.post("/c/notes/settings", fields);
    expect(status).toBe(400);
    expect(body).toContain("on that machine");
  }
});

test("a new collection is made on the server", async () => {
  const made = await person.post("/new", { name: "plans", columns: "team" });
  expect(made.path).toBe("/c/plans");
  expect((await person.get("/")).body).toContain('href="/c/plans"');
});

test("with --read-only there is no form", async () => {
  for (const path of ["/", "/c/notes/settings"]) expect((await reader.get(path)).body).not.toContain("<form");
  expect((await reader.post("/c/notes/settings", { do: "compact" })).status).toBe(403);
});
