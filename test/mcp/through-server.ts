/**
 * `npm run test:remote`: the tests of MCP once more through a server, each file in a process of its own. A difference
 * between `svc mcp` and `svc mcp --remote` fails one of them.
 */
import { join } from "node:path";

/** Files of tests that start `svc mcp`, or its fixture, on a memory that a server can have. */
const FILES =
  `mcp/protocol mcp/modern mcp/lifecycle mcp/project mcp/roots mcp/with-text e2e/mcp e2e/bounded e2e/truncated
  e2e/long-query e2e/odd-texts e2e/meaning e2e/features e2e/tool-sets e2e/brief e2e/regrets e2e/history e2e/unreadable
  e2e/not-regular e2e/workspaces e2e/repositories`.split(/\s+/);

/** Runs a file of tests through a server. @param file below test, without its ending */
export async function runThroughServer(file: string): Promise<{ report: string; passed: number; isGood: boolean }> {
  const child = Bun.spawn([process.execPath, "test", "--timeout=120000", `./test/${file}.test.ts`], {
    cwd: join(import.meta.dir, "../.."),
    env: { ...process.env, SVC_TEST_REMOTE: "1" },
    stdout: "ignore",
    stderr: "pipe",
  });
  const [report, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  return { report, passed: Number(/^ *(\d+) pass$/m.exec(report)?.[1] ?? 0), isGood: code === 0 };
}

if (import.meta.main) {
  let failed = 0;
  for (const file of FILES) {
    const { report, passed, isGood } = await runThroughServer(file);
    console.log(isGood ? `${file}: ${passed} tests passed` : `${file} FAILED\n${report}`);
    if (!isGood) failed++;
  }
  process.exit(failed === 0 ? 0 : 1);
}
