/** A release of this checkout's executable, tried as the workflow does and as a new user would: from the one line on. */
import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packagesIn } from "../../../src/build/executable.ts";
import { makeRelease } from "../../../src/build/release/make.ts";
import { buildInfo } from "../../../src/build-info.ts";
import { platformTag } from "../../../src/paths.ts";
import { ROOT, SVC } from "../../e2e/home.ts";
import { largeDir } from "../../fixture.ts";
import { testKey } from "../../keys.ts";
import { SCRIPTS } from "./stand-ins.ts";

const NEEDS = ["bash", "curl", "python3"].filter((name) => !Bun.which(name));

test.skipIf(NEEDS.length > 0)(
  "is installed, finds a memory and is removed (needs bash, curl and python3)",
  async () => {
    const folder = join(largeDir(), "release");
    const { version, release } = buildInfo();
    await makeRelease({
      ...{ root: ROOT, folder, version, release, created: "2026-01-02T03:04:05.000Z", isQuick: true },
      ...{ executables: { [platformTag()!]: SVC }, packages: packagesIn(join(ROOT, ".build"), SVC) },
      ...{ floor: "0.0.0", ends: [], key: testKey("release").privateKey },
    });
    const temporary = largeDir();
    const attempt = async () => {
      const env = { PATH: process.env.PATH!, TMPDIR: temporary, HOME: temporary };
      const child = Bun.spawn(["bash", join(SCRIPTS, "try-release"), folder], { env, stdout: "pipe", stderr: "pipe" });
      const [out, said, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      return { out, said, code };
    };
    const { out, said, code } = await attempt();
    if (code !== 0) throw new Error(said);
    expect(out).toContain("We deploy blue-green");
    expect(out).toContain(`svc ${version} installs, remembers and is removed`);
    expect(readdirSync(temporary)).toEqual([]);

    writeFileSync(join(folder, "notices.txt"), "changed");
    expect((await attempt()).code).toBe(1);
  },
  300_000,
);
