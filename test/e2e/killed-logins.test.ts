/** A login that is killed while it installs the runtime, or before, and the executable's next one. */
import { expect, test } from "bun:test";
import { requireLogin } from "../../src/trust/account/license/credentials.ts";
import { forEachOf, killedLogin, leftIn, stepsOf } from "../trust/account/kills.ts";
import { emptyHome, Session, svc } from "./home.ts";

/** Steps of a login in an empty home, where KILLS=all does not ask for all of them. */
const SOME = [
  "renameSync .login_license.jwt.*.tmp",
  "openSync libty_runtime.so",
  "renameSync .staging-*",
  "renameSync .releases.json.*.tmp",
];
/** The same of a repeated one, which has the release on record. */
const SOME_AGAIN = SOME.slice(0, 2);

async function expectWorks(env: Record<string, string>): Promise<void> {
  expect(await svc(env, ["mem", "add", "notes", "a login was killed here"])).toMatchObject({ code: 0 });
  const found = await svc(env, ["mem", "search", "notes", "killed"]);
  expect(found).toMatchObject({ code: 0, out: expect.stringContaining("a login was killed here") });
}

test("a login killed at any step: the next one ends in a tool call that works, and leaves none of its files", async () => {
  const steps = await stepsOf(emptyHome().SVC_HOME!, "runtime");
  const named = SOME.map((name) => steps.findIndex((step) => step.replace(".dylib", ".so") === name) + 1);
  expect(named).not.toContain(0);
  const at = process.env.KILLS === "all" ? steps.map((_, index) => index + 1) : named;
  await forEachOf(at, async (step) => {
    const env = emptyHome();
    const home = env.SVC_HOME!;
    // With KILLS=all every second one beside another login.
    const beside = at.length > SOME.length && step % 2 === 0 ? svc(env, ["login", "--yes"]) : undefined;
    await killedLogin(home, "runtime", step);
    expect((await beside)?.code ?? 0).toBe(0);
    expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0 });
    await expectWorks(env);
    expect(leftIn(home)).toEqual([]);
  });
});

test("a first call of svc mcp --login killed at any step: of the next ones, at once, each works", async () => {
  const steps = await stepsOf(emptyHome().SVC_HOME!, "first call");
  const named = SOME.map((name) => steps.findIndex((step) => step.replace(".dylib", ".so") === name) + 1);
  expect(named).not.toContain(0);
  const at = process.env.KILLS === "all" ? steps.map((_, index) => index + 1) : named;
  await forEachOf(at, async (step) => {
    const env = emptyHome();
    expect(await killedLogin(env.SVC_HOME!, "first call", step)).toBe(true);
    const sessions = await Promise.all(Array.from({ length: 3 }, () => Session.open(env, "--login")));
    const answers = await Promise.all(sessions.map((session) => session.call("svc_list_collections")));
    expect(answers.filter(({ notice }) => notice !== undefined).length).toBeLessThanOrEqual(1);
    await requireLogin(env.SVC_HOME!, env);
    expect(leftIn(env.SVC_HOME!)).toEqual([]);
    await Promise.all(sessions.map((session) => session.close()));
  });
});

test("a repeated login killed at any step leaves tool calls that work", async () => {
  const env = emptyHome();
  const home = env.SVC_HOME!;
  expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0 });
  const steps = await stepsOf(home, "runtime");
  const named = SOME_AGAIN.map((name) => steps.findIndex((step) => step.replace(".dylib", ".so") === name) + 1);
  expect(named).not.toContain(0);
  for (const step of process.env.KILLS === "all" ? steps.map((_, index) => index + 1) : named) {
    expect(await killedLogin(home, "runtime", step)).toBe(true);
    await requireLogin(home, env);
    await expectWorks(env);
  }
  expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0 });
  expect(leftIn(home)).toEqual([]);
});
