/**
 * The examples are documentation that runs: each in a process of its own that imports "svc", in a home where the
 * compiled executable has logged in and installed the runtime.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "../../src/remote/server/server.ts";
import { localStore } from "../api/fixture.ts";
import { emptyHome, ROOT, signedIn } from "../e2e/home.ts";
import { ended } from "../ended.ts";

const EXAMPLES = join(import.meta.dir, "examples");
const NAMES = readdirSync(EXAMPLES).sort();

let home: Record<string, string>;
let server: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  home = await signedIn();
  server = await serve({ store: await localStore(), socketPath: join(mkdtempSync(join(tmpdir(), "svc-")), "s.sock") });
}, 60_000);

afterAll(async () => {
  await server?.stop();
});

/** Runs a script to its end with a memory directory of its own. */
async function run(script: string, env: Record<string, string>): Promise<{ code: number; said: string }> {
  const SVC_MEMORY_PATH = mkdtempSync(join(tmpdir(), "svc-sdk-"));
  const child = Bun.spawn([process.execPath, "run", script], {
    env: { ...env, SVC_MEMORY_PATH, NO_COLOR: "1" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { code, out, err } = await ended(child);
  return { code, said: out + err };
}

describe("with a login", () => {
  for (const name of NAMES) {
    test(`examples/${name}`, async () => {
      expect(await run(join(EXAMPLES, name), home)).toEqual({ code: 0, said: "" });
    }, 120_000);
  }

  test("examples/remote.ts on a server", async () => {
    const env = { ...home, EXAMPLE_ADDRESS: server.address };
    expect(await run(join(EXAMPLES, "remote.ts"), env)).toEqual({ code: 0, said: "" });
  });

  test("a project that depends on svc imports it by name", async () => {
    const project = mkdtempSync(join(tmpdir(), "svc-dependant-"));
    mkdirSync(join(project, "node_modules"));
    symlinkSync(ROOT, join(project, "node_modules", "svc"));
    writeFileSync(join(project, "main.ts"), readFileSync(join(EXAMPLES, "texts.ts")));
    expect(await run(join(project, "main.ts"), home)).toEqual({ code: 0, said: "" });
  });
});

test("without a login it is a PermissionError that says what to run", async () => {
  const { code, said } = await run(join(EXAMPLES, "texts.ts"), emptyHome());
  expect(code).toBe(1);
  expect(said).toMatch(/PermissionError: .*svc login/);
});

test("every name that the SDK exports appears in an example", async () => {
  const sdk = readFileSync(join(ROOT, "src/sdk.ts"), "utf8");
  // What a file is exported of as a whole counts too.
  const whole = [...sdk.matchAll(/export type \* from "(.*)"/g)].map(([, path]) =>
    readFileSync(join(ROOT, "src", path!), "utf8").replace(/^export (?:interface|type) (\w+)/gm, "export { $1 }"),
  );
  const exported = [...[sdk, ...whole].join("\n").matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names]) =>
    names!.split(",").map((name) =>
      name
        .trim()
        .replace(/^type /, "")
        .replace(/^.* as /, ""),
    ),
  );
  const examples = NAMES.map((name) => readFileSync(join(EXAMPLES, name), "utf8")).join("\n");
  const missing = exported.filter((name) => name !== "" && !new RegExp(`\\b${name}\\b`).test(examples));
  expect(exported.length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});
