/** Python with the client of an install: it runs the files that were verified, and leaves none beside them. */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asPlainUser, copyOfHome, type Home, signedIn, svc } from "./home.ts";

/** The system's Python, where it is one that the client supports. */
const PYTHON = ((path) => {
  const check = "import sys; sys.exit(sys.version_info < (3, 8))";
  return path && Bun.spawnSync([path, "-c", check]).success ? path : undefined;
})(Bun.which("python3"));

let original: Home;
beforeAll(async () => {
  original = await signedIn();
});

const NEEDS = "(needs Python 3.8 or newer)";

function pysiteOf(env: Home): string {
  return [...new Bun.Glob("runtime/*/pysite").scanSync({ cwd: env.SVC_HOME!, onlyFiles: false, absolute: true })][0]!;
}

async function envLine(env: Home): Promise<string> {
  const { code, out, err } = await svc(env, ["runtime", "env"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out.trim();
}

/** Runs Python in a shell that has evaluated a line. @returns what it printed */
function python(env: Home, line: string, code: string): string {
  const { stdout, stderr, success } = Bun.spawnSync(["sh", "-c", `${line}\n"$PYTHON" -c "$CODE"`], {
    env: { ...env, PYTHON: PYTHON!, CODE: code },
    cwd: env.HOME,
  });
  if (!success) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

/** The names of the checks that fail. */
async function findings(env: Home): Promise<string[]> {
  const { out } = await svc(env, ["runtime", "verify", "--json"]);
  const checks: { name: string; ok: boolean }[] = JSON.parse(out).checks;
  return checks.filter(({ ok }) => !ok).map(({ name }) => name);
}

/**
 * Puts bytecode of other code beside a source: with its time and size, or of the kind that is never compared with it.
 */
function poison(env: Home, kind: "timestamp" | "unchecked"): void {
  const folder = join(pysiteOf(env), "svc", "__pycache__");
  rmSync(folder, { recursive: true, force: true });
  const source = join(pysiteOf(env), "svc", "errors.py");
  const script = `
import importlib._bootstrap_external as b, importlib.util, os, sys
source, kind = sys.argv[1:]
code = compile("print('POISON'); raise SystemExit(0)", source, "exec")
stat = os.stat(source)
if kind == "timestamp":
    data = b._code_to_timestamp_pyc(code, int(stat.st_mtime), stat.st_size)
else:
    data = b._code_to_hash_pyc(code, bytes(8), checked=False)
path = importlib.util.cache_from_source(source)
os.makedirs(os.path.dirname(path))
open(path, "wb").write(data)
`;
  expect(Bun.spawnSync([PYTHON!, "-c", script, source, kind], { env }).success).toBe(true);
}

describe("the line of `svc runtime env`", () => {
  test.skipIf(!PYTHON)(`Python imports the client and writes bytecode elsewhere ${NEEDS}`, async () => {
    const env = copyOfHome(original);
    const line = await envLine(env);
    for (let start = 0; start < 2; start++) {
      expect(python(env, line, "import svc; print(svc.__file__)")).toBe(join(pysiteOf(env), "svc", "__init__.py"));
    }
    const bytecode = join(env.SVC_HOME!, "pycache");
    expect(statSync(bytecode).mode & 0o777).toBe(0o700);
    expect([...new Bun.Glob("**/svc/*.pyc").scanSync({ cwd: bytecode })].length).toBeGreaterThan(3);
    expect(await findings(env)).toEqual([]);
  });

  test.skipIf(!PYTHON).each(["timestamp", "unchecked"] as const)(
    `bytecode beside the sources does not run (%s), and is a finding ${NEEDS}`,
    async (kind) => {
      const env = copyOfHome(original);
      const line = await envLine(env);
      poison(env, kind);
      const ask = "import svc; print(svc.RemoteError.__name__)";
      expect(python(env, `export PYTHONPATH='${pysiteOf(env)}'`, ask)).toBe("POISON");
      expect(python(env, `export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='${pysiteOf(env)}'`, ask)).toBe("POISON");
      expect(python(env, line, ask)).toBe("RemoteError");
      expect(await findings(env)).toContainEqual(expect.stringContaining("pysite/svc/__pycache__"));
      const { code, out, err } = await svc(env, ["runtime", "env"]);
      expect({ code, out }).toEqual({ code: 0, out: "" });
      expect(err).toContain("not verified");
    },
  );

  test("keeps the user's folder for bytecode, unless others can write there or it depends on where Python starts", async () => {
    const env = copyOfHome(original);
    const mine = join(env.HOME!, "mine");
    mkdirSync(mine, { mode: 0o700 });
    const given = (path: string) => ({ ...env, PYTHONPYCACHEPREFIX: path });
    const json = async (path: string) => JSON.parse((await svc(given(path), ["runtime", "env", "--json"])).out);
    expect(await envLine(given(mine))).not.toContain("PYTHONPYCACHEPREFIX");
    expect(await json(mine)).toEqual({ pysite: pysiteOf(env), pycache_prefix: mine });
    expect(await json(join(env.SVC_HOME!, "pycache"))).toMatchObject({ pysite: pysiteOf(env) });
    chmodSync(mine, 0o777);
    for (const path of [mine, join(mine, "below"), "relative/path"]) {
      expect(await json(path)).toEqual({ pysite: null, pycache_prefix: null });
      const { out, err } = await svc(given(path), ["runtime", "env"]);
      expect(out).toBe("");
      expect(err).toMatch(/PYTHONPYCACHEPREFIX.*; nothing is put on the Python path$/m);
    }
  });

  test("refuses a folder for bytecode that others can write, with the command that removes it and what they put there", async () => {
    const env = copyOfHome(original);
    const folder = join(env.SVC_HOME!, "pycache");
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const { code, out, err } = await svc(env, ["runtime", "env"]);
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toContain("not verified");
    expect(await findings(env)).toEqual(["permissions pycache"]);
    const { out: report } = await svc(env, ["runtime", "verify"]);
    const remedy = /others can write to pycache, and what is in it may be theirs: run (rm -r "\S+)$/m.exec(report)?.[1];
    expect(Bun.spawnSync(["sh", "-c", remedy!], { env }).success).toBe(true);
    expect(existsSync(folder)).toBe(false);
    expect(await envLine(env)).toContain("pycache");
  });

  test("closes the folder for bytecode to readers too: what Python makes in it may be open to all", async () => {
    const env = copyOfHome(original);
    const folder = join(env.SVC_HOME!, "pycache");
    mkdirSync(folder, { mode: 0o755 });
    await envLine(env);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test.skipIf(asPlainUser === undefined)(
    "works with a home that cannot be written (as root it needs setpriv)",
    async () => {
      const env = copyOfHome(original);
      chmodSync(env.SVC_HOME!, 0o500);
      const { code, out, err } = await svc(env, ["runtime", "env"], "", { prefix: asPlainUser! });
      chmodSync(env.SVC_HOME!, 0o700);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      // In a folder that is not there Python finds nothing.
      expect(out).toContain(`PYTHONPYCACHEPREFIX=${join(env.SVC_HOME!, "pycache")}`);
      expect(existsSync(join(env.SVC_HOME!, "pycache"))).toBe(false);
    },
  );

  test("refuses a home that PYTHONPATH cannot name", async () => {
    const env = copyOfHome(original);
    const odd = join(env.HOME!, "a:b");
    expect(Bun.spawnSync(["cp", "-a", env.SVC_HOME!, odd]).success).toBe(true);
    const { out, err } = await svc({ ...env, SVC_HOME: odd }, ["runtime", "env"]);
    expect(out).toBe("");
    expect(err).toContain("a colon");
  });
});

test.skipIf(!PYTHON)(`with PYTHONPATH alone Python leaves nothing beside the sources ${NEEDS}`, async () => {
  const env = copyOfHome(original);
  expect(python(env, `export PYTHONPATH='${pysiteOf(env)}'`, "import svc; print(1)")).toBe("1");
  expect(await findings(env)).toEqual([]);
  expect(existsSync(join(env.SVC_HOME!, "pycache"))).toBe(false);
  writeFileSync(join(pysiteOf(env), "svc", "__pycache__"), "x");
  expect(await findings(env)).toEqual([expect.stringContaining("pysite/svc/__pycache__")]);
});
