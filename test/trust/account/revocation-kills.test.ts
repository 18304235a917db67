/** A renewal that is answered with a revocation, killed at each of its steps: the licence stands as it was, or all refuses. */
import { expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { DeviceRevoked } from "../../../src/trust/account/license/revocation.ts";
import { FAKE_BUILD, NO_HOME } from "../../cli/support.ts";
import { failure, newHome } from "./helpers.ts";
import { forEachOf, leftIn } from "./kills.ts";
import { BUILD, member, NOW } from "./member.ts";

const SRC = join(import.meta.dir, "../../../src/trust/account");
const PROGRAM = `
const { requireLogin } = await import("${SRC}/license/credentials.ts");
const { renewByConsent } = await import("${SRC}/login/renewal.ts");
const build = JSON.parse(process.env.BUILD);
const known = await requireLogin(process.env.SVC_HOME, {}, { build });
await renewByConsent(process.env.SVC_HOME, {}, known, { build }).catch((error) => console.log(error.code));
`;

test("whatever step it is killed at, and the next login repairs it", async () => {
  const m = await member();
  m.answers(() => Response.json({ error: "device_revoked" }, { status: 403 }));
  const folder = newHome();
  const program = join(folder, "program.ts");
  writeFileSync(program, PROGRAM);
  const copy = () => {
    const home = join(newHome(), "home");
    cpSync(m.home, home, { recursive: true });
    return home;
  };
  /** Runs a renewal, which is killed before the step `at`. */
  const renewal = async (home: string, at = 0) => {
    const words = ["--preload", FAKE_BUILD, "--preload", join(import.meta.dir, "kill-steps.ts"), program];
    const env = { PATH: process.env.PATH, HOME: NO_HOME, SVC_HOME: home, BUILD: JSON.stringify(BUILD) };
    const steps = { STEPS_LOG: join(folder, "log"), KILL_AT: String(at) };
    const child = Bun.spawn([process.execPath, ...words], { env: { ...env, ...steps }, stdout: "pipe" });
    const said = await new Response(child.stdout).text();
    await child.exited;
    return { said, killed: child.signalCode === "SIGKILL" };
  };
  expect((await renewal(copy())).said).toBe("PermissionError.device_revoked\n");
  const steps = readFileSync(join(folder, "log"), "utf8").trim().split("\n");
  expect(steps).toEqual(expect.arrayContaining(["renameSync .revoked.json.*.tmp", "unlinkSync login_license.jwt"]));
  const outcomes = new Set<string>();
  await forEachOf(
    steps.map((_, index) => index + 1),
    async (at) => {
      const home = copy();
      expect((await renewal(home, at)).killed).toBe(true);
      const { revoked, license } = accountPaths(home);
      const isRevoked = existsSync(revoked);
      if (isRevoked) {
        const error = await failure(() => requireLogin(home, {}, { build: BUILD }), DeviceRevoked);
        expect(error.message).toContain(
          `revoked at ${m.server.url} on ${new Date(NOW * 1000).toISOString().slice(0, 10)}`,
        );
      } else await requireLogin(home, {}, { build: BUILD });
      outcomes.add(`${isRevoked ? "refuses" : "works"}, ${existsSync(license) ? "with" : "without"} a licence`);
    },
  );
  expect([...outcomes].sort()).toEqual(["refuses, with a licence", "works, with a licence"].sort());
  // What a kill left is gone with the next login.
  const home = copy();
  await renewal(home, steps.indexOf("renameSync .revoked.json.*.tmp") + 1);
  expect(leftIn(home)).toHaveLength(1);
  m.answers(() => undefined);
  await m.enter(m.server.url, { home });
  expect(leftIn(home)).toEqual([]);
  await requireLogin(home, {}, { build: BUILD });
});
