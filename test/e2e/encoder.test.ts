/** The executable with a damaged sentence encoder: tools answer, and two commands name the file and the remedy. */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBundle } from "../../src/build/release.ts";
import { releaseKey } from "../../src/build/release-keys.ts";
import { platformTag, runtimePaths } from "../../src/paths.ts";
import { builtLibraries } from "../native.ts";
import { ROOT, signedIn, svc } from "./home.ts";

test("damaged weights stop no tool, and 'svc runtime install' replaces them", async () => {
  const env = await signedIn();
  const { version, release } = JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8"));
  const given = join(env.HOME!, "weights");
  writeFileSync(given, crypto.getRandomValues(new Uint8Array(60_000)));
  const tag = platformTag()!;
  const created = "2020-01-01T00:00:00Z";
  const options = { tag, version, release, created, ...(await builtLibraries()), key: releaseKey(ROOT) };
  const file = join(env.HOME!, "a.bundle");
  writeFileSync(file, makeBundle({ ...options, model: given }));
  const install = ["runtime", "install", "--file", file];
  const path = runtimePaths(env.SVC_HOME!, tag).model;
  for (const damage of [() => truncateSync(path, 100), () => rmSync(path)]) {
    expect(await svc(env, install)).toMatchObject({ code: 0 });
    expect(readFileSync(path)).toEqual(readFileSync(given));
    expect(await svc(env, ["runtime", "verify"])).toMatchObject({ code: 0 });
    damage();
    expect(await svc(env, ["mem", "add", "notes", "we deploy on Tuesdays"])).toMatchObject({ code: 0 });
    expect((await svc(env, ["mem", "search", "notes", "deploy"])).out).toContain("Tuesdays");
    expect(await svc(env, ["runtime", "verify"])).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /^failed +hash sentence-encoder\.bin +searches by meaning are off: .*'svc runtime install'/m,
      ),
    });
    const { findings } = JSON.parse((await svc(env, ["doctor", "--json"])).out);
    expect(findings).toContainEqual(
      expect.objectContaining({ check: "runtime.hash", level: "problem", remedy: "svc runtime install" }),
    );
    // The memory is examined all the same.
    expect(findings.map(({ message }: { message: string }) => message).join("\n")).toMatch(/notes|1 collection/);
  }
});
