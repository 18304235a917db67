/** Several machines with one memory: the compiled executable, a real database, and what a person types. */
import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Home, signedIn, svc } from "../e2e/home.ts";
import { scratchDir } from "../fixture.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";

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
      const list = await svc(a, ["mem", "list", "--json"]);
      expect(list.out).toContain("notes");
      const own = await svc(without as Home, ["mem", "list"]);
      expect(own.out).not.toContain("notes");
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
      expect(refused.err).toContain("SVC_ENGINE_URL");
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

async function node(server: PostgresServer): Promise<Home> {
  return { ...(await signedIn()), SVC_ENGINE_URL: server.url };
}
