/** The command line of `svc upgrade`. */
import { describe, expect, test } from "bun:test";
import { remedyFor } from "../../../src/cli/upgrade/upgrade.ts";
import { svc } from "../support.ts";
import { OWN, releaseOf, Scene } from "./host.ts";

describe("wrong usage ends with 2", () => {
  test.each([
    [["--check", "--rollback"], "--check and --rollback do not go together"],
    [["--version", "1.2.3", "--rollback"], "--version and --rollback do not go together"],
    [["--version", "1.2"], "--version must be a version such as 1.2.3, got '1.2'"],
    [["--version", "../../1.2.3"], "--version must be a version such as 1.2.3, got '../../1.2.3'"],
  ])("%j", async (words, sentence) => {
    const { code, stderr } = await svc(["upgrade", ...words]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `svc: ${sentence}; see 'svc upgrade --help'\n` });
  });
});

test("svc that runs from its source is not replaced", async () => {
  for (const words of [[], ["--rollback"]])
    expect((await svc(["upgrade", ...words])).stderr).toStartWith("svc: svc runs from its source here");
});

test("--check says what there is, by words and as JSON, and makes nothing", async () => {
  for (const [version, sentence] of [
    ["9.0.0", `svc 9.0.0 is the newest release, and this is ${OWN.version}: 'svc upgrade' installs it\n`],
    [OWN.version, `svc ${OWN.version} is the newest release, and this is it\n`],
    ["0.0.1", `svc 0.0.1 is the newest release, and this is a later one, ${OWN.version}\n`],
  ] as const) {
    const { env, host } = await Scene.of({ [version]: releaseOf(version) });
    expect(await svc(["upgrade", "--check"], { env })).toEqual({ code: 0, stdout: sentence, stderr: "" });
    const { stdout } = await svc(["upgrade", "--check", "--json"], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ version: OWN.version, release: OWN.release, source: host.url },
      ...{ newest: { version, floor: "0.0.0" }, newer: version === "9.0.0" },
    });
    expect(await Bun.file(`${env.SVC_HOME}/releases.json`).exists()).toBe(false);
  }
});

test("--check names the command of the package manager whose file this is", async () => {
  expect(remedyFor("/opt/homebrew/Cellar/svc/1.0.0/bin/svc")).toBe(
    "this svc belongs to Homebrew: run 'brew upgrade svc'",
  );
  expect(remedyFor((await Scene.of({ "9.0.0": {} })).executable)).toBe("'svc upgrade' installs it");
  expect(remedyFor(undefined)).toBe("'svc upgrade' installs it");
});
