/**
 * Tests of MCP through a server: with SVC_TEST_REMOTE=1 they start a server on the test's memory, and the MCP server of
 * the test is a client of that one, as `svc mcp --remote` is. Each answer has to be as without it.
 */
import { join } from "node:path";
import { openRemoteVerbs, type RemoteVerbs } from "../../src/remote/client/verbs.ts";

/** The tests run through a server. */
export const IS_REMOTE = process.env.SVC_TEST_REMOTE === "1";

/** Why a test does not run through a server. */
export const SKIPPED = {
  cancelled: "(not through a server, which carries out a call that its client has cancelled)",
  progress: "(not through a server, which reports no progress)",
  start: "(not through a server, which needs login and runtime when it starts)",
  order: "(not through a server, whose answers have the order of the requests)",
} as const;

/**
 * Starts `fixture-served.ts` in a process of its own, which ends with this one.
 * @param dir its memory; without one its verbs are those of `fixture-verbs.ts`
 */
export async function startServed(dir?: string): Promise<{ address: string; stop(): Promise<void> }> {
  const env = { ...process.env, ...(dir !== undefined && { FIXTURE_MEMORY: dir }) };
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "fixture-served.ts")], {
    env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error("the server of the fixture did not start");
  const stop = async () => {
    await child.stdin.end();
    await child.exited;
  };
  return { address: new TextDecoder().decode(value).trim(), stop };
}

/** The verbs of a memory through a server of its own, which `close` ends. */
export async function servedVerbs(dir: string): Promise<RemoteVerbs> {
  const served = await startServed(dir);
  const local = () => Promise.reject(new Error("no tool about files of this machine is called here"));
  const there = await openRemoteVerbs({ address: served.address, local });
  const close = async () => {
    await there.close();
    await served.stop();
  };
  return { verbs: there.verbs, close };
}
