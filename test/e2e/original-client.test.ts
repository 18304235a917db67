/** The operations of the service document by a client that was written from it alone, over each of its transports. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { ended } from "../ended.ts";
import { type Home, SVC, signedIn, svc } from "./home.ts";
import { servers } from "./served.ts";

const PYTHON = Bun.which("python3");
const TOKEN = "one-token-for-all-4711";
const start = servers();

const TRANSPORTS: [string, (home: Home) => string[], string[]][] = [
  ["a Unix socket, without a token", ({ HOME }) => ["--socket", join(HOME!, "svc.sock")], []],
  ["TCP, with the one token", () => ["--host", "127.0.0.1", "--port", "0", "--access-token", TOKEN], [TOKEN]],
];

test.skipIf(!PYTHON).each(TRANSPORTS)("over %s (needs Python 3)", async (_, flags, token) => {
  const home = await signedIn();
  const memory = join(home.HOME!, "memory");
  const { server, address } = await start([SVC, "serve", "--json", "--path", memory, ...flags(home)], home);
  const words = [PYTHON!, join(import.meta.dir, "original_client.py"), address, ...token];
  expect(await ended(Bun.spawn(words, { stdout: "pipe", stderr: "pipe" }))).toEqual({
    code: 0,
    out: "done\n",
    err: "",
  });
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  // What it saved is what svc finds in the directory.
  const found = await svc(home, ["mem", "get", "texts", "cat", "--path", memory, "--json"]);
  expect(JSON.parse(found.out).rows[0]).toMatchObject({
    text: "The cat is awake – größer €.",
    metadata: { scope: "pets" },
  });
  expect((await svc(home, ["mem", "count", "vectors", "--path", memory])).out.trim()).toBe("3");
});
