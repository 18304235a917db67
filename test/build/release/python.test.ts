/** The Python client's packages, installed by pip without network and used on a server. */
import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectOf } from "../../../src/build/release/project.ts";
import { pythonPackages, pythonVersion } from "../../../src/build/release/python.ts";
import { ROOT, SVC, signedIn } from "../../e2e/home.ts";
import { servers } from "../../e2e/served.ts";
import { ended } from "../../ended.ts";
import { scratchDir } from "../../fixture.ts";

const start = servers();
const [wheel, sdist] = pythonPackages(ROOT, projectOf(ROOT, "1.2.3")).map(([name, bytes]) => {
  const path = join(scratchDir(), name);
  writeFileSync(path, bytes);
  return path;
});

const PYTHON = Bun.which("python3");
const has = (...modules: string[]) =>
  PYTHON !== null && Bun.spawnSync([PYTHON, "-c", `import ${modules.join()}`]).success;

/** Runs Python and returns what it prints. */
async function python(command: string[], env: Record<string, string> = {}): Promise<string> {
  const { PYTHONPATH: _, ...inherited } = process.env;
  const child = Bun.spawn(command, {
    cwd: scratchDir(),
    env: { ...inherited, PIP_DISABLE_PIP_VERSION_CHECK: "1", PIP_ROOT_USER_ACTION: "ignore", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const { code, out, err } = await ended(child);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${out}${err}`);
  return out;
}

/** The interpreter of an empty environment into which pip has installed a package. */
async function installed(path: string, ...flags: string[]): Promise<string> {
  const folder = join(scratchDir(), "venv");
  await python([PYTHON!, "-m", "venv", "--without-pip", folder]);
  const [library] = readdirSync(join(folder, "lib"));
  const target = join(folder, "lib", library!, "site-packages");
  await python([PYTHON!, "-m", "pip", "install", "--no-index", "--no-deps", "--target", target, ...flags, path]);
  return join(folder, "bin/python3");
}

const FACTS = `
import svc, importlib.metadata as m
d = m.metadata("svc-memory")
print(d["Name"], d["Version"], d["Requires-Python"], sorted(str(f) for f in m.files("svc-memory") if f.name == "py.typed"))
assert svc.__doc__.split("\\n")[0] in d.get_payload() or svc.__doc__.split("\\n")[0] in d["Description"]
`;
const EXPECTED = "svc-memory 1.2.3 >=3.8 ['svc/py.typed']\n";

const USE = `
import os, svc
with svc.connect(os.environ["ADDRESS"], os.environ["TOKEN"]) as memory:
    notes = memory.create_collection("notes", embedder="multigram")
    notes.add_texts(["the kettle is in the left cupboard"], ids=["kettle"])
    notes.save()
    print(notes.search_text("where is the kettle", top_k=1)["ids"])
`;

test("versions are those of Python", () => {
  expect(["1.2.3", "1.2.3-rc.1", "1.2.3-beta.2", "1.2.3-alpha3"].map(pythonVersion)).toEqual([
    "1.2.3",
    "1.2.3rc1",
    "1.2.3b2",
    "1.2.3a3",
  ]);
  expect(() => pythonVersion("1.2.3+build")).toThrow("use 1.2.3 or 1.2.3-rc.1");
});

test.skipIf(!has("pip", "venv"))(
  "pip installs the wheel, and the client works with svc serve over TLS (needs Python 3 with pip)",
  async () => {
    const interpreter = await installed(wheel!);
    expect(await python([interpreter, "-c", FACTS])).toBe(EXPECTED);
    const env = { ...(await signedIn()), SVC_ACCESS_TOKEN: "one-token-for-all-4711" };
    const { address } = await start(
      [SVC, "serve", "--json", "--host", "127.0.0.1", "--port", "0", "--tls", "self"],
      env,
    );
    const place = { ADDRESS: address, TOKEN: env.SVC_ACCESS_TOKEN };
    expect(await python([interpreter, "-c", USE], place)).toBe("['kettle']\n");
  },
  60_000,
);

test.skipIf(!has("pip", "venv", "setuptools", "wheel"))(
  "pip builds and installs the sdist (needs Python 3 with pip, setuptools and wheel)",
  async () => {
    const interpreter = await installed(sdist!, "--no-build-isolation");
    expect(await python([interpreter, "-c", FACTS])).toBe(EXPECTED);
  },
  60_000,
);
