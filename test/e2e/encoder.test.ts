/** The sentence encoder of an install: read once a process; if it is damaged, tools answer and two commands name it. */
import { beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBundle } from "../../src/build/release.ts";
import { releaseKey } from "../../src/build/release-keys.ts";
import { platformTag, runtimePaths } from "../../src/paths.ts";
import { verifiedNative } from "../../src/trust/runtime/libraries.ts";
import { builtLibraries } from "../native.ts";
import { type Home, ROOT, signedIn, svc } from "./home.ts";

const tag = platformTag()!;
let env: Home;
/** Installs this checkout's libraries with weights, from a file. */
let install: string[];
let path: string;
let weights: Buffer<ArrayBuffer>;

beforeAll(async () => {
  env = await signedIn();
  path = runtimePaths(env.SVC_HOME!, tag).model;
  const { version, release } = JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8"));
  const [model, file] = [join(env.HOME!, "weights"), join(env.HOME!, "a.bundle")];
  weights = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)));
  writeFileSync(model, weights);
  const options = { tag, version, release, created: "2020-01-01T00:00:00Z", key: releaseKey(ROOT) };
  writeFileSync(file, makeBundle({ ...options, ...(await builtLibraries()), model }));
  install = ["runtime", "install", "--file", file];
});

test("a process reads the weights once, when they are first asked for", async () => {
  expect(await svc(env, install)).toMatchObject({ code: 0 });
  rmSync(path);
  const native = await verifiedNative({ env });
  writeFileSync(path, weights);
  const { bytes } = (await native.model!())!;
  expect(Buffer.compare(bytes!, weights)).toBe(0);
  rmSync(path);
  expect((await native.model!())!.bytes).toBe(bytes);
  expect((await (await verifiedNative({ env })).model!())!.bytes).toBe(bytes);
});

test("damaged weights stop no tool, and 'svc runtime install' replaces them", async () => {
  for (const damage of [() => truncateSync(path, 100), () => rmSync(path)]) {
    expect(await svc(env, install)).toMatchObject({ code: 0 });
    expect(readFileSync(path)).toEqual(weights);
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
