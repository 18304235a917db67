/**
 * The executable for Linux on arm64, where this machine has one (`bun build.ts --all`) and can emulate it. What a new user
 * does first, and the tools over stdio.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { EMULATOR_NEEDS, emulator } from "../arm64.ts";
import { emptyHome, ROOT } from "./home.ts";

const EXECUTABLE = join(ROOT, "dist/linux-arm64/svc");
const [qemu, ...options] = emulator ?? [];
const isThere = emulator !== undefined && existsSync(EXECUTABLE);

test.skipIf(!isThere)(
  `on arm64 a memory is made, found and served (needs bun build.ts --all, and ${EMULATOR_NEEDS})`,
  async () => {
    const env = emptyHome();
    const run = async (...words: string[]) => {
      const child = Bun.spawn([qemu!, ...options, EXECUTABLE, ...words], {
        env,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      if ((await child.exited) !== 0) throw new Error(`svc ${words.join(" ")}: ${said}`);
      return out;
    };
    expect(await run("version")).toContain(", linux-arm64, ");
    await run("login", "--yes");
    expect(await run("runtime", "verify")).toContain("for linux-arm64 is verified");
    await run("mem", "add", "notes", "We deploy blue-green and switch after five green minutes.", "--id", "deploy");
    expect(await run("mem", "search", "notes", "how do we deploy")).toContain("1. deploy");

    const client = new Client({ name: "test", version: "1" });
    await client.connect(
      new StdioClientTransport({ command: qemu!, args: [...options, EXECUTABLE, "mcp"], env, stderr: "ignore" }),
    );
    expect((await client.listTools()).tools.length).toBe(19);
    const found = await client.callTool({ name: "svc_search", arguments: { collection: "notes", query: "deploy" } });
    expect(JSON.stringify(found.content)).toContain("deploy");
    await client.close();
    expect(await run("mem", "check")).toContain("notes");
  },
  300_000,
);
