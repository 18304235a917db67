/** The page of what `svc doctor` finds. */
import { expect, test } from "bun:test";
import type { HealthFinding } from "../../src/ui/memory/site.ts";
import { TestMemory } from "../fixture.ts";
import { browsing, localParts } from "./opened.ts";

const FINDINGS: HealthFinding[] = [
  { area: "memory", level: "ok", message: "3 collections", remedy: null },
  { area: "memory", level: "problem", message: "<b>damaged</b> \u202e", remedy: "svc mem check notes --repair" },
  { area: "clients", level: "warning", message: "an old entry", remedy: "mend the file, then svc mcp install" },
];

test("findings stand by area, the worst first, with commands to copy", async () => {
  const m = await TestMemory.open();
  const person = await browsing(m, { local: localParts(m, async () => FINDINGS) });
  const { body, status } = await person.get("/health");
  expect(status).toBe(200);
  expect(body).toContain("1 problem and 1 warning");
  expect(body).toContain('<code class="command">svc mem check notes --repair</code>');
  expect(body).toContain("&lt;b&gt;damaged&lt;/b&gt; [U+202E]");
  expect(body.indexOf("damaged")).toBeLessThan(body.indexOf("3 collections"));
  expect(body).toContain('<p class="hint">mend the file, then svc mcp install</p>');
});

test("a thousand findings are a small page", async () => {
  const m = await TestMemory.open();
  const many = Array.from({ length: 1000 }, (_, i) => ({ ...FINDINGS[1]!, message: `${i}: ${"\u202e".repeat(900)}` }));
  const areas = ["executable", "home", "login", "runtime", "memory", "repositories", "server", "clients"];
  const findings = many.map((one, i) => ({ ...one, area: areas[i % 8]! }));
  const person = await browsing(m, { local: localParts(m, async () => findings) });
  const { body } = await person.get("/health");
  expect(body).toContain("more findings");
  expect(Buffer.byteLength(body)).toBeLessThan(60 * 1024);
});
