/** Where an executable may be, and what may be in the way: package managers, permissions, disks, names that are taken. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { requireOwnFile } from "../../../src/cli/upgrade/owner.ts";
import { Place } from "../../../src/cli/upgrade/place.ts";
import { NPM_SCOPE } from "../../../src/published.ts";
import { asPlainUser } from "../../e2e/home.ts";
import { SmallDisk } from "../../small-disk.ts";
import { OWN, program, releaseOf, Scene } from "./host.ts";

const OLD = program(OWN.version);
const inPlace = (s: Scene) => readFileSync(s.executable);
const sceneOf = () => Scene.of({ "9.0.0": releaseOf("9.0.0") });

describe("a package manager's file is left to it, with its command", () => {
  const CASES: [path: string, sentence: string, owner: string][] = [
    ["/opt/homebrew/Cellar/svc/1.0.0/bin/svc", "this svc belongs to Homebrew: run 'brew upgrade svc'", ""],
    [
      `/usr/local/lib/node_modules/${NPM_SCOPE}/svc-linux-x86_64/svc`,
      "this svc belongs to npm: run 'npm install -g ",
      "",
    ],
    ["/nix/store/abc-svc-1.0.0/bin/svc", "this svc belongs to Nix: ", ""],
    ["/snap/svc/12/bin/svc", "this svc belongs to snap: run 'snap refresh svc'", ""],
    [
      "/srv/.config/Claude/Claude Extensions/svc/server/svc",
      "this svc belongs to an extension of Claude: install the newer .mcpb file",
      "",
    ],
    ["/usr/bin/svc", "this svc belongs to a Debian package: run 'apt install --only-upgrade svc'", "dpkg-query"],
    ["/opt/svc/svc", "this svc belongs to an RPM package: run 'dnf upgrade svc'", "rpm"],
    ["/usr/bin/svc", "this svc belongs to a package of pacman: run 'pacman -Syu'", "pacman"],
  ];
  test.each(CASES)("%s: %s", (path, sentence, owner) => {
    expect(() => requireOwnFile(path, [], ([name]) => name === owner)).toThrow(sentence);
  });

  test("in a folder of packages, a file that no package has is its administrator's", () => {
    const asked: string[] = [];
    const ask = ([name = ""]: readonly string[]) => asked.push(name) < 0;
    expect(() => requireOwnFile("/usr/local/bin/svc", [], ask)).not.toThrow("belongs to");
    expect(asked).toEqual([]);
    expect(() => requireOwnFile("/usr/bin/svc", [], ask)).not.toThrow("belongs to");
    expect(asked).toEqual(["dpkg-query", "rpm", "pacman"]);
  });

  test("in an unpacked .mcpb bundle", async () => {
    const s = await sceneOf();
    const manifest = { manifest_version: "0.3", name: "svc", server: { type: "binary", entry_point: "bin/svc" } };
    writeFileSync(join(s.folder, "manifest.json"), JSON.stringify(manifest));
    await expect(s.upgrade()).rejects.toThrow("this svc belongs to an extension of an MCP client");
    writeFileSync(join(s.folder, "manifest.json"), JSON.stringify({ name: "another file" }));
    await s.upgrade();
  });
});

test.skipIf(!asPlainUser)("a folder that this user cannot write is named with what to do", async () => {
  const s = await sceneOf();
  chmodSync(dirname(s.executable), 0o555);
  for (const [way, flags] of [
    ["forth", ""],
    ["back", " --rollback"],
  ]) {
    const words = [process.execPath, join(import.meta.dir, "kill-child.ts"), s.executable, way!];
    const child = Bun.spawn([...asPlainUser!, ...words], { env: s.env, stdout: "ignore", stderr: "pipe" });
    expect(await new Response(child.stderr).text()).toContain(
      `cannot write to the folder of this svc (EACCES): run 'sudo ${s.executable} upgrade${flags}', or install`,
    );
  }
  expect(inPlace(s)).toEqual<Buffer>(OLD);
});

describe("in the way of the folder beside svc", () => {
  const beside = (s: Scene) => join(dirname(s.executable), ".svc-upgrade");
  const SENTENCE =
    "'.svc-upgrade' beside svc is not a folder that only this user can write: remove it, and upgrade again";
  test.each([
    ["a file", (path: string) => writeFileSync(path, "")],
    ["a link", (path: string) => symlinkSync("/tmp", path)],
    ["a folder that others can write", (path: string) => Bun.spawnSync(["mkdir", "-m", "777", path])],
  ] as [string, (path: string) => unknown][])("%s is refused", async (_, put) => {
    const s = await sceneOf();
    put(beside(s));
    await expect(s.upgrade()).rejects.toThrow(SENTENCE);
    expect(inPlace(s)).toEqual<Buffer>(OLD);
  });

  test("folders in the places of its files are removed", async () => {
    const s = await sceneOf();
    for (const name of ["svc.new", "svc.previous", "svc.aside", "trial"])
      mkdirSync(join(beside(s), name, "in the way"), { recursive: true, mode: 0o700 });
    chmodSync(beside(s), 0o700);
    await s.upgrade();
    expect(inPlace(s)).toEqual<Buffer>(program("9.0.0"));
    expect(readFileSync(join(beside(s), "svc.previous"))).toEqual<Buffer>(OLD);
  });

  test("a link that names another folder than a trial's leaves that as it is", async () => {
    const s = await sceneOf();
    mkdirSync(beside(s), { mode: 0o700 });
    symlinkSync(s.home, join(beside(s), "trial"));
    mkdirSync(s.home, { mode: 0o700 });
    writeFileSync(join(s.home, "mine"), "");
    await s.upgrade();
    expect(statSync(join(s.home, "mine")).isFile()).toBe(true);
  });
});

describe("the exchange", () => {
  const prepared = async () => {
    const s = await sceneOf();
    const place = new Place(s.executable);
    return { s, place };
  };

  test("where a file can have no second name keeps a copy", async () => {
    const { s, place } = await prepared();
    await place.alone(async () => {
      place.put(program("9.0.0"));
      place.swap(place.fresh, () => {
        throw Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
      });
    });
    expect(inPlace(s)).toEqual<Buffer>(program("9.0.0"));
    expect(readFileSync(place.previous)).toEqual<Buffer>(OLD);
    expect(statSync(place.previous).mode & 0o777).toBe(0o755);
  });

  test("is refused if another program has replaced svc meanwhile", async () => {
    const { s, place } = await prepared();
    const other = program("5.0.0");
    await place.alone(async () => {
      place.put(program("9.0.0"));
      writeFileSync(`${s.executable}.other`, other);
      renameSync(`${s.executable}.other`, s.executable);
      expect(() => place.swap(place.fresh)).toThrow("another program has replaced svc meanwhile");
    });
    expect(inPlace(s)).toEqual<Buffer>(other);
  });

  test("is refused if svc is gone", async () => {
    const s = await sceneOf();
    rmSync(s.executable);
    await expect(s.upgrade()).rejects.toThrow("this svc was moved or removed while it runs");
  });
});

describe("a small disk", () => {
  const disk = new SmallDisk("1m");
  const can = disk.isPossible;
  /** Does not compress, and takes most of the disk. */
  const LARGE = Buffer.concat([program("9.0.0", "exit 0"), crypto.getRandomValues(new Uint8Array(60_000))]);

  /** A machine whose executable is on that disk. */
  const sceneOn = async () => {
    const s = await Scene.of({ "9.0.0": releaseOf("9.0.0", { executable: LARGE }) });
    rmSync(dirname(s.executable), { recursive: true });
    rmSync(join(disk.path, "bin"), { recursive: true, force: true });
    mkdirSync(join(disk.path, "bin"));
    symlinkSync(join(disk.path, "bin"), dirname(s.executable));
    s.putOld();
    return s;
  };

  test.skipIf(!can)("that is full beside svc, and one that is full under SVC_HOME", async () => {
    const s = await sceneOn();
    let free = disk.fill();
    await expect(s.upgrade()).rejects.toMatchObject({
      code: "OSError.disk_full",
      message: expect.stringMatching(
        /^cannot \w+ '\S+': ENOSPC: no space left on device: free some space and try again$/,
      ),
    });
    expect(inPlace(s)).toEqual<Buffer>(OLD);
    free();
    s.env.SVC_HOME = join(disk.path, "home");
    mkdirSync(join(s.env.SVC_HOME, "runtime"), { recursive: true, mode: 0o700 });
    const t = await sceneOf();
    t.env.SVC_HOME = s.env.SVC_HOME;
    free = disk.fill();
    await expect(t.upgrade()).rejects.toMatchObject({ code: "OSError.disk_full" });
    expect(inPlace(t)).toEqual(OLD);
    free();
    await s.upgrade();
    expect(inPlace(s)).toEqual<Buffer>(LARGE);
  });

  test.skipIf(!can)("that is full where the new svc tries itself", async () => {
    const writes = `echo text > "$HOME/file" || { echo "svc: the disk is full: free some space" >&2; exit 1; }`;
    const s = await Scene.of({ "9.0.0": releaseOf("9.0.0", { executable: program("9.0.0", writes) }) });
    const { TMPDIR } = process.env;
    process.env.TMPDIR = disk.path;
    const free = disk.fill();
    const left = readdirSync(disk.path);
    try {
      await expect(s.upgrade()).rejects.toThrow(
        "the new svc was not installed, as it does not run here: 'svc login --yes' ended with exit code 1: svc: the disk is full: free some space",
      );
      expect([inPlace(s), readdirSync(disk.path)]).toEqual([OLD, left]);
      free();
      await s.upgrade();
      expect(inPlace(s)).toEqual(program("9.0.0", writes));
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    }
  });

  test.skipIf(!can)("from which no program may be started", async () => {
    const s = await sceneOn();
    const mode = (option: string) => Bun.spawnSync(["mount", "-o", `remount,${option}`, disk.path]).success;
    expect(mode("noexec")).toBe(true);
    await expect(s.upgrade()).rejects.toThrow(
      "'svc version --json' cannot be started (EACCES); its file system may be mounted with 'noexec': mount it without",
    );
    expect(inPlace(s)).toEqual<Buffer>(OLD);
    expect(mode("exec")).toBe(true);
  });

  test.skipIf(!can)("that is read-only", async () => {
    const s = await sceneOn();
    const mode = (option: string) => Bun.spawnSync(["mount", "-o", `remount,${option}`, disk.path]).success;
    expect(mode("ro")).toBe(true);
    await expect(s.upgrade()).rejects.toThrow(
      "this user cannot write to the folder of this svc (EROFS): upgrade svc where",
    );
    expect(mode("rw")).toBe(true);
  });
});
