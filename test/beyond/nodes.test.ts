/** Several machines with one memory: the compiled executable, a real database, and what a person types. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type RemoteTelys } from "../../src/remote/client/client.ts";
import { type Home, SVC, signedIn, svc } from "../e2e/home.ts";
import { scratchDir } from "../fixture.ts";
import { freePort } from "../free-port.ts";
import { client } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import { OTHER_HOST, ROOT_CERTIFICATE } from "./tls.ts";

const TIMEOUT_MS = 120_000;

describe.skipIf(!hasServers())(`nodes of one memory ${NEEDS}`, () => {
  let server: PostgresServer;
  let a: Home;
  let b: Home;

  beforeAll(async () => {
    server = await PostgresServer.start({ dir: join(scratchDir(), "server") });
    [a, b] = await Promise.all([node(server), node(server)]);
  }, TIMEOUT_MS);

  test(
    "what one adds is found by the other, with the same scores",
    async () => {
      await svc(a, ["mem", "add", "notes", "the deploy needs the VPN", "staging is rebuilt at night"]);
      await svc(b, ["mem", "add", "notes", "the VPN needs a new certificate each May"]);
      const answers = await Promise.all(
        [a, b].map((home) => svc(home, ["mem", "search", "notes", "VPN", "--with-text"])),
      );
      expect(answers[0]!.out).toContain("certificate each May");
      expect(answers[1]!.out).toBe(answers[0]!.out);
    },
    TIMEOUT_MS,
  );

  test(
    "a copy refuses changes where no database is named",
    async () => {
      const { SVC_ENGINE_URL: _, ...without } = a;
      expect((await svc(without as Home, ["mem", "list"])).out).not.toContain("notes");
      const copies = join(a.SVC_HOME!, "copies");
      const [copy] = readdirSync(copies).map((name) => join(copies, name));
      const refused = await svc(without as Home, ["mem", "add", "notes", "of no node", "--path", copy!]);
      const why = "this memory directory is a copy of a memory whose log is in a database";
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(why)]);
      expect((await svc(a, ["mem", "search", "notes", "node", "--with-text"])).out).not.toContain("of no node");
    },
    TIMEOUT_MS,
  );

  test(
    "the address can be in a file, and in no argument",
    async () => {
      const { SVC_ENGINE_URL: address, ...without } = a;
      const file = join(scratchDir(), "engine");
      writeFileSync(file, `${address}\n`, { mode: 0o600 });
      const found = await svc(without as Home, ["mem", "get", "notes", "--engine-file", file, "--json"]);
      expect(found.err).not.toContain(address!);
      const refused = await svc(without as Home, ["mem", "list", "--engine-file", address!]);
      expect(refused.code).toBe(2);
      expect(refused.err).toContain("mode 0600");
    },
    TIMEOUT_MS,
  );

  test.each<[string, string, (server: PostgresServer) => Promise<string>]>([
    [
      "a wrong password",
      "the user name or the password is wrong",
      async ({ url }) => url.replace(/:[^:@]*@/, ":not-the-word@"),
    ],
    ["a host that is away", "see whether the address is right", async (server) => server.urlAt(freePort())],
    [
      "the certificate of another host",
      "is for another name",
      async () => {
        const { url } = await PostgresServer.start({ dir: join(scratchDir(), "server"), tls: OTHER_HOST });
        const root = join(scratchDir(), "root.pem");
        writeFileSync(root, ROOT_CERTIFICATE);
        return `${url}?sslmode=verify-full&sslrootcert=${root}`;
      },
    ],
    [
      "tables of another program",
      "tables that svc did not make",
      ({ url }) => another(url, "create schema svc; create table svc.svc_head (x int)"),
    ],
    [
      "tables of another owner",
      "grant this role USAGE",
      async ({ url }) => {
        await client(url).unsafe("create role other login password 'secret'");
        const tables = await another(url, "create schema svc; create table svc.svc_version (version int)");
        return tables.replace(/\/\/.*@/, "//other:secret@");
      },
    ],
    [
      "tables of a newer svc",
      "run 'svc upgrade' on this machine",
      ({ url }) => another(url, "create schema svc; create table svc.svc_version as select 99 as version"),
    ],
  ])(
    "%s: a command fails with what to do, and does not print the password",
    async (_, advice, addressOf) => {
      const address = await addressOf(server);
      const { code, out, err } = await svc({ ...b, SVC_ENGINE_URL: address }, ["mem", "list"]);
      expect([code, out, err]).toEqual([1, "", expect.stringContaining(advice)]);
      expect(err).not.toContain(decodeURIComponent(new URL(address).password));
      expect(err).not.toContain(new URL(address).password);
    },
    TIMEOUT_MS,
  );

  test(
    "a memory of one machine moves into the database, with its history, and back",
    async () => {
      const alone = await signedIn();
      await svc(alone, ["mem", "add", "own", "first version", "--id", "r"]);
      await svc(alone, ["mem", "update", "own", "second version", "--id", "r"]);
      const file = join(scratchDir(), "engine");
      writeFileSync(file, server.url, { mode: 0o600 });
      expect((await svc(alone, ["mem", "copy", "own", "--to", file])).out).toContain("copied 1 collection");
      const again = await svc(alone, ["mem", "copy", "own", "--to", file]);
      expect(again.out).toContain("copied 1 collection");
      expect((await svc(b, ["mem", "history", "own", "r"])).out).toContain("first version");
      await svc(b, ["mem", "add", "own", "added in the database"]);
      expect((await svc(alone, ["mem", "copy", "own", "--to", file])).err).toContain(
        "another collection 'own' already",
      );
      const back = join(scratchDir(), "back");
      const from = await svc(alone, ["mem", "copy", "own", "--from", file, "--path", back, "--json"]);
      expect(JSON.parse(from.out).copied[0].name).toBe("own");
      expect((await svc(alone, ["mem", "search", "own", "added", "--with-text", "--path", back])).out).toContain(
        "database",
      );
      expect((await svc(alone, ["mem", "add", "own", "a change of its own", "--path", back])).code).toBe(0);
      expect((await svc(alone, ["mem", "check", "--path", back])).code).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    "a damaged copy is fetched again by a repair",
    async () => {
      await svc(b, ["mem", "list"]);
      const [copy] = readdirSync(join(b.SVC_HOME!, "copies"));
      const folder = join(b.SVC_HOME!, "copies", copy!, "notes");
      const base = join(folder, readdirSync(folder).find((file) => file.startsWith("base-"))!);
      const bytes = readFileSync(base);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(base, bytes);
      expect((await svc(b, ["mem", "check", "notes"])).code).toBe(1);
      const repaired = await svc(b, ["mem", "check", "notes", "--repair"]);
      expect([repaired.code, repaired.out]).toEqual([0, expect.stringContaining("fetched again from the database")]);
      expect((await svc(b, ["mem", "check", "notes"])).code).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    "svc serve with a database shares its clients' changes with other nodes",
    async () => {
      const socket = join(scratchDir(), "s.sock");
      const served = Bun.spawn([SVC, "serve", "--socket", socket, "--save-interval", "0.2", "--json"], {
        env: a,
        stdout: "pipe",
        stderr: "ignore",
      });
      try {
        for await (const _ of served.stdout) break;
        const remote = ["--remote", `unix://${socket}`];
        expect(
          (await svc({ ...a, SVC_ENGINE_URL: "" }, ["mem", "add", "served", "from a client", ...remote])).code,
        ).toBe(0);
        await found(b, ["served", "client"], "from a client");
        await svc(b, ["mem", "add", "served", "from another machine"]);
        await found({ ...a, SVC_ENGINE_URL: "" }, ["served", "machine", ...remote], "from another machine");
        const { database } = JSON.parse((await svc(a, ["serve", "status", "--socket", socket, "--json"])).out);
        expect(database).toMatchObject({ away_since: null, collections: { served: { behind: 0 } } });
        expect([database.commits, database.fetched_bytes].every((counter) => counter > 0)).toBe(true);
      } finally {
        served.kill();
        await served.exited;
      }
    },
    TIMEOUT_MS,
  );

  test(
    "a client of one machine's svc serve waits for what a client of another's has saved",
    async () => {
      const nodes: { served: Bun.Subprocess; client: RemoteTelys }[] = [];
      try {
        for (const home of [a, b]) {
          const socket = join(scratchDir(), "s.sock");
          const words = ["serve", "--socket", socket, "--json"];
          const served = Bun.spawn([SVC, ...words], { env: home, stdout: "pipe", stderr: "ignore" });
          for await (const _ of served.stdout) break;
          nodes.push({ served, client: await connect(`unix://${socket}`) });
        }
        await listed(server, a, b);
        const [ours, theirs] = await Promise.all(nodes.map(({ client }) => client.openCollection("notes")));
        for (let i = 0; i < 20; i++) {
          await ours!.addTexts([`waited ${i}`], { ids: [`waited ${i}`] });
          const atLeast = await ours!.save();
          expect((await theirs!.get([`waited ${i}`], { atLeast }))[0]!.found).toBe(true);
        }
      } finally {
        for (const { served, client } of nodes) {
          await client.close();
          served.kill();
          await served.exited;
        }
      }
    },
    TIMEOUT_MS,
  );

  test(
    "a node that is cut off answers from its copy",
    async () => {
      await server.kill();
      const found = await svc(b, ["mem", "search", "notes", "VPN"]);
      expect(found.out).toContain("VPN");
      expect(found.err).toContain("this machine's copy");
      const refused = await svc(b, ["mem", "add", "notes", "not now"]);
      expect(refused.code).toBe(1);
      expect(refused.err).toContain("nothing was saved");
      await server.restart();
      await svc(b, ["mem", "add", "notes", "back again"]);
    },
    TIMEOUT_MS,
  );
});

/** `svc mem list` shows generations, and both nodes, also to a role without privileges on their sessions. */
async function listed(server: PostgresServer, a: Home, b: Home): Promise<void> {
  const [one, other] = await Promise.all(
    [a, b].map(async (home) => JSON.parse((await svc(home, ["mem", "list", "--json"])).out).replication),
  );
  expect(one.collections.notes).toEqual({ generation: expect.any(Number), behind: 0 });
  expect(one.nodes).toEqual([one.node, other.node].sort());
  const table = (await svc(a, ["mem", "list"])).out;
  expect(table).toMatch(/^NAME .* GENERATION .*\n(.*\n)*notes .*\n/);
  expect(table).toContain(
    `\n\n2 nodes connected: ${one.nodes.map((id: string) => id.slice(0, 8) + (id === one.node ? " (this machine)" : "")).join(", ")}\n`,
  );
  const sql = client(server.url);
  await sql.unsafe(`create role lister login password 'plain-word'; grant usage on schema svc to lister;
    grant select, insert, update, delete on all tables in schema svc to lister`);
  const SVC_ENGINE_URL = server.url.replace(/\/\/[^@]*@/, "//lister:plain-word@");
  const shown = JSON.parse((await svc({ ...a, SVC_ENGINE_URL }, ["mem", "list", "--json"])).out).replication;
  expect(shown.nodes).toContain(other.node);
}

/** Searches until an answer has a text: other nodes' commits are followed within a second. */
async function found(home: Home, words: string[], text: string): Promise<void> {
  for (let answer = ""; !answer.includes(text); ) {
    answer = (await svc(home, ["mem", "search", ...words, "--with-text"])).out;
  }
}

/** Another database of a server, in which statements were run. @returns its address */
async function another(url: string, statements: string): Promise<string> {
  const name = `d${crypto.randomUUID().replaceAll("-", "")}`;
  await client(url).unsafe(`create database ${name}`);
  const address = url.replace(/postgres$/, name);
  await client(address).unsafe(statements);
  return address;
}

async function node(server: PostgresServer): Promise<Home> {
  return { ...(await signedIn()), SVC_ENGINE_URL: server.url };
}
