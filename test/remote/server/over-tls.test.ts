/** The tests of limits, order and bad input once more, with TLS under every server of theirs. */
import { expect, test } from "bun:test";
import { join } from "node:path";

test.each(["limits", "order", "bad-input"])(
  "what %s.test.ts tests holds over TLS",
  async (name) => {
    const file = join(import.meta.dir, `${name}.test.ts`);
    const child = Bun.spawn([process.execPath, "test", "--timeout=120000", file], {
      cwd: join(import.meta.dir, "../../.."),
      env: { ...process.env, SVC_TEST_TLS: "1" },
      stdout: "ignore",
      stderr: "pipe",
    });
    const [report, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    if (code !== 0) throw new Error(report);
    expect(Number(/^ *(\d+) pass$/m.exec(report)?.[1])).toBeGreaterThan(5);
  },
  180_000,
);
