/** The official conformance suite against `svc mcp`: each scenario passes or fails as `scenarios.ts` says. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SVC, signedIn } from "../../e2e/home.ts";
import { clients } from "../clients/installed.ts";
import { Bridge } from "./bridge.ts";
import type { Revision } from "./official.ts";
import { EXTENSIONS, SCENARIOS } from "./scenarios.ts";
import { type Check, listScenarios, runScenarios } from "./suite.ts";

const REVISIONS = Object.keys(SCENARIOS) as Revision[];
const NEEDS = "(needs the suite, which npm run test:clients installs)";

const failing = (checks: Check[]) => checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");

describe.skipIf(!clients.isInstalled())("the conformance suite", () => {
  let bridge: Bridge;
  beforeAll(async () => {
    bridge = new Bridge([SVC, "mcp"], await signedIn());
  });
  afterAll(() => bridge?.close());

  test(`lists every scenario of its own in the table ${NEEDS}`, async () => {
    const scenarios = await listScenarios();
    const unlisted = [...scenarios].filter(([name, of]) => {
      if (of.includes("extension")) return !Object.keys(EXTENSIONS).some((prefix) => name.startsWith(prefix));
      return !REVISIONS.some((revision) => of.includes(revision) && name in SCENARIOS[revision]);
    });
    expect(scenarios.size).toBeGreaterThan(60);
    expect(unlisted).toEqual([]);
  });

  test.each(REVISIONS)(`%s: every scenario passes or fails as the table says ${NEEDS}`, async (revision) => {
    const results = await runScenarios(bridge.url, revision);
    const failed = [...results].map(([name, checks]) => [
      name,
      failing(checks)
        .map(({ id }) => id)
        .sort(),
    ]);
    const expected = Object.entries(SCENARIOS[revision]).map(([name, { fails }]) => [
      name,
      Object.keys(fails ?? {}).sort(),
    ]);
    const messages = [...results].flatMap(([name, checks]) => failing(checks).map((c) => `${name}: ${c.errorMessage}`));
    expect(Object.fromEntries(failed), messages.join("\n")).toEqual(Object.fromEntries(expected));
  });

  test(`sees no message that the protocol does not allow, and every server ends ${NEEDS}`, async () => {
    const { faults } = bridge;
    const codes = await bridge.close();
    expect({ faults, codes: [...new Set(codes)] }).toEqual({ faults: [], codes: [0] });
  });
});
