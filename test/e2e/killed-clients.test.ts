/** Fifty clients of `svc mcp` that are killed at random moments: no server stays, no acknowledged row is lost. */
import { beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { random } from "../random.ts";
import { until } from "../remote/server/raw.ts";
import { SVC, signedIn, svc } from "./home.ts";

const CLIENTS = 50;
const AT_ONCE = 10;
/** From the start of a client's process; its first call is answered after some 200 ms, or 800 where ten start. */
const LONGEST_LIFE_MS = 1500;

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

/** Starts a server, says its pid, adds one row after another, and says each that was acknowledged. */
const CLIENT = `
  const [svc, memory, name] = process.argv.slice(1);
  const server = Bun.spawn([svc, "mcp", "--path", memory], { stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  console.log(server.pid);
  const send = (message) => {
    server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    server.stdin.flush();
  };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  send({ id: 0, method: "initialize", params });
  send({ method: "notifications/initialized" });
  const add = (n) => {
    const arguments_ = { collection: "shared", texts: ["row " + n + " of " + name], ids: [name + "-" + n] };
    send({ id: n, method: "tools/call", params: { name: "svc_add", arguments: arguments_ } });
  };
  let rest = "";
  for await (const chunk of server.stdout) {
    const lines = (rest + new TextDecoder().decode(chunk)).split("\\n");
    rest = lines.pop();
    for (const line of lines) {
      const { id, result } = JSON.parse(line);
      if (id > 0 && !result.isError) console.log(name + "-" + id);
      add(id + 1);
    }
  }`;

test("clients that are killed leave no server and lose no row", async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const next = random(seed);
  const memory = join(mkdtempSync(join(tmpdir(), "svc-killed-")), "memory");
  const [servers, acknowledged]: [number[], string[]] = [[], []];

  const client = async (i: number) => {
    const name = `client${i}`;
    const child = Bun.spawn([process.execPath, "-e", CLIENT, SVC, memory, name], { env, stdout: "pipe" });
    let said = "";
    const reading = (async () => {
      for await (const chunk of child.stdout) said += new TextDecoder().decode(chunk);
    })();
    // On a busy machine few would get to their first row by themselves.
    if (i % 5 === 0) await until("a row", () => said.includes(name));
    await Bun.sleep(next() * LONGEST_LIFE_MS);
    child.kill("SIGKILL");
    await reading;
    const [pid, ...ids] = said.trim().split("\n");
    if (pid !== "") servers.push(Number(pid));
    acknowledged.push(...ids);
  };
  for (let first = 0; first < CLIENTS; first += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => client(first + i)));
  }

  await until(`the servers to end, seed ${seed}`, () => !servers.some(isAlive));
  const { out } = await svc(env, ["mem", "ids", "shared", "--path", memory, "--json"]);
  const ids = new Set<string>(JSON.parse(out).ids);
  expect({ seed, lost: acknowledged.filter((id) => !ids.has(id)) }).toEqual({ seed, lost: [] });
  // Of each client at most the row that was under way when it was killed.
  expect(ids.size - acknowledged.length).toBeLessThanOrEqual(CLIENTS);
  expect(servers.length).toBeGreaterThanOrEqual(CLIENTS / 5);
  expect(acknowledged.length).toBeGreaterThanOrEqual(CLIENTS / 5);
  const added = await svc(env, ["mem", "add", "shared", "after all of them", "--path", memory]);
  expect(added).toMatchObject({ code: 0 });
}, 60_000);

/** One that has ended counts no more, though its new parent may not have taken note of that for a second or two. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
