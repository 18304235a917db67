/** A server is started and has to answer; whatever else it does is a sentence. */
import { describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HandshakeOptions, handshake } from "../../../src/cli/mcp/handshake.ts";
import { MAIN, temporaryFolder } from "../support.ts";

const PATH = process.env.PATH ?? "";

/** Shakes hands with a shell script that stands for a server. */
async function withScript(script: string, options: Partial<HandshakeOptions> = {}) {
  using folder = temporaryFolder();
  const command = join(folder.path, "server");
  writeFileSync(command, `#!/bin/sh\n${script}\n`);
  chmodSync(command, 0o755);
  return await handshake({ command, args: [] }, { env: { PATH }, cwd: folder.path, ...options });
}

const answer = (id: number, result: object) => `echo '${JSON.stringify({ jsonrpc: "2.0", id, result })}'`;
const INITIALIZED = answer(1, { serverInfo: { name: "x", version: "7" } });
const LISTED = answer(2, { tools: [{}, {}] });

describe("a server that answers", () => {
  test("says its version and how many tools it has, and ends with its stdin", async () => {
    const said = await handshake({ command: process.execPath, args: [MAIN, "mcp"] }, { env: process.env, cwd: "/" });
    expect(said).toMatchObject({ ok: true, server: "svc", tools: 19 });
  });

  test("gets of the environment what clients pass on, and what its entry has", async () => {
    const script = `read a; echo "{\\"id\\":1,\\"result\\":{\\"serverInfo\\":{\\"name\\":\\"$SVC_HOME-$OURS\\",\\"version\\":\\"$HOME\\"}}}"; ${LISTED}; cat > /dev/null`;
    using folder = temporaryFolder();
    const command = join(folder.path, "server");
    writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const env = { PATH, HOME: "/h", SVC_HOME: "/secret" };
    const said = await handshake({ command, args: [], env: { OURS: "given" } }, { env, cwd: folder.path });
    expect(said).toMatchObject({ ok: true, server: "-given", version: "/h", tools: 2 });
  });

  test("may send notifications in between", async () => {
    const notice = `echo '{"jsonrpc":"2.0","method":"notifications/message"}'`;
    expect(await withScript(`${notice}; ${INITIALIZED}; ${notice}; ${LISTED}; cat > /dev/null`)).toMatchObject({
      ok: true,
      version: "7",
      tools: 2,
    });
  });
});

describe("a server that does not", () => {
  const CASES: [string, string, string][] = [
    ["ends at once", "echo why >&2; exit 3", "ended with code 3 before it answered"],
    ["ends after initialize", INITIALIZED, "ended with code 0 before it answered"],
    ["writes text to stdout", "echo hello; cat > /dev/null", "wrote a line to stdout that is not a message of MCP"],
    ["refuses", `echo '{"id":1,"error":{"message":"no"}}'; cat > /dev/null`, "answered with an error: no"],
    ["lists no tools", `${INITIALIZED}; ${answer(2, {})}; cat > /dev/null`, "did not list its tools"],
    ["ends with a failure", `${INITIALIZED}; ${LISTED}; cat > /dev/null; exit 4`, "answered, but ended with code 4"],
    ["leaves its pipes to another process", "sleep 5 & exit 1", "ended with code 1 before it answered"],
  ];
  test.each(CASES)("%s", async (_, script, problem) => {
    const said = await withScript(script);
    expect(said).toMatchObject({ ok: false, problem });
    if (script.includes("why")) expect(said).toMatchObject({ stderr: "why" });
  });

  test("in time is killed", async () => {
    expect(await withScript("exec sleep 60", { timeoutMs: 200 })).toMatchObject({
      ok: false,
      problem: "did not answer within 0.2 s",
    });
    const stays = `${INITIALIZED}; ${LISTED}; exec sleep 60`;
    expect(await withScript(stays, { timeoutMs: 500 })).toMatchObject({
      problem: "answered, but did not end when its stdin ended",
    });
  });

  test("is not there, or may not be run", async () => {
    const options = { env: { PATH }, cwd: "/" };
    for (const command of ["/nowhere/svc", "no-such-program-of-svc", import.meta.path]) {
      const said = await handshake({ command, args: [] }, options);
      expect(said).toMatchObject({ ok: false, problem: "is not there, or is not a program that may be run" });
    }
  });

  test("is ended when the command is interrupted", async () => {
    const controller = new AbortController();
    const said = withScript("exec sleep 60", { signal: controller.signal });
    controller.abort();
    expect(await said).toMatchObject({ ok: false, problem: "was interrupted" });
  });
});
