/** With SVC_TEST_REMOTE=1, `svc mcp` of the tests is `svc mcp --remote` on a server of the same memory. */
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IS_REMOTE } from "../mcp/remote.ts";
import { closedAtEnd } from "../opened.ts";

const serving = new Map<string, Promise<string>>();

/**
 * The arguments of `svc mcp`, through a server where the tests run so. The server of a memory ends with the test, or the
 * file, that first used it.
 * @param svc the executable
 */
export async function throughServer(svc: string, args: string[], env: Record<string, string>): Promise<string[]> {
  if (!IS_REMOTE || args.includes("--remote") || env.SVC_REMOTE) return args;
  // Without a login no server starts: what such a home answers is not about a memory.
  if (!statSync(join(env.SVC_HOME!, "login_license.jwt"), { throwIfNoEntry: false })?.isFile()) return args;
  const at = args.indexOf("--path");
  const flags = at < 0 ? args : args.toSpliced(at, 2);
  const memory = (at < 0 ? env.SVC_MEMORY_PATH : args[at + 1]) || join(env.SVC_HOME!, "memory");
  let address = serving.get(memory);
  if (address === undefined) {
    address = start(svc, memory, env);
    serving.set(memory, address);
  }
  return ["--remote", await address, ...flags];
}

async function start(svc: string, memory: string, env: Record<string, string>): Promise<string> {
  const socket = join(mkdtempSync(join(tmpdir(), "svc-")), "s.sock");
  const server = Bun.spawn([svc, "serve", "--json", "--path", memory, "--socket", socket], {
    env,
    stdout: "pipe",
    stderr: "ignore",
  });
  closedAtEnd({
    close: async () => {
      serving.delete(memory);
      server.kill();
      await server.exited;
    },
  });
  const { value } = await server.stdout.getReader().read();
  if (value === undefined) throw new Error(`'svc serve --path ${memory}' did not start`);
  return (JSON.parse(new TextDecoder().decode(value)) as { address: string }).address;
}
