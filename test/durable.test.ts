import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  checkSecretFile,
  makeDirectory,
  readCapped,
  readSecret,
  shellPath,
  withLock,
  writeDurable,
  writeNew,
} from "../src/durable.ts";
import { OSError, PermissionError, TimeoutError, ValueError } from "../src/errors.ts";

const root = mkdtempSync(join(tmpdir(), "svc-durable-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (name: string) => join(root, name);

describe("writeDurable", () => {
  test("replaces the whole file, with the mode asked for, and leaves nothing beside it", () => {
    const folder = at("w");
    makeDirectory(folder);
    const path = join(folder, "token");
    writeDurable(path, "a long first version");
    writeDurable(path, "short");
    expect(readFileSync(path, "utf8")).toBe("short");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeDurable(path, new Uint8Array(3_000_000).fill(1), 0o644);
    expect(statSync(path)).toMatchObject({ size: 3_000_000 });
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(["token"]);
  });

  test("a link at the destination is replaced, not followed", () => {
    writeDurable(at("target"), "kept");
    symlinkSync(at("target"), at("link"));
    writeDurable(at("link"), "new");
    expect(readFileSync(at("target"), "utf8")).toBe("kept");
    expect(readFileSync(at("link"), "utf8")).toBe("new");
  });

  test("a failure names the file and the cause, not the place, and leaves no temporary file", () => {
    mkdirSync(at("taken"));
    expect(() => writeDurable(at("taken"), "x")).toThrow(OSError);
    expect(() => writeDurable(join(root, "absent", "token"), "x")).toThrow("cannot write 'token': ENOENT");
    try {
      writeDurable(at("taken"), "x");
    } catch (error) {
      expect((error as Error).message).not.toContain(root);
    }
    expect(readdirSync(root).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("writeNew refuses what is there", () => {
    writeNew(at("once"), new Uint8Array(1));
    expect(() => writeNew(at("once"), new Uint8Array(1))).toThrow("cannot write 'once': EEXIST");
  });
});

describe("readCapped", () => {
  test("absent, empty, exact and too large", () => {
    writeDurable(at("five"), "12345");
    writeDurable(at("empty"), "");
    expect(readCapped(at("nothing"), 5)).toBeUndefined();
    expect(readCapped(at("empty"), 0)).toHaveLength(0);
    expect(readCapped(at("five"), 5)).toHaveLength(5);
    expect(() => readCapped(at("five"), 4)).toThrow(ValueError);
  });

  test("a folder, a FIFO and a device are refused at once; a link only where asked", () => {
    expect(() => readCapped(root, 5)).toThrow(ValueError);
    expect(Bun.spawnSync(["mkfifo", at("fifo")]).success).toBe(true);
    expect(() => readCapped(at("fifo"), 5)).toThrow("'fifo' is a FIFO, not a regular file");
    expect(() => readCapped("/dev/zero", 5)).toThrow("not a regular file");
    writeDurable(at("linked"), "x");
    symlinkSync(at("linked"), at("to-linked"));
    expect(readCapped(at("to-linked"), 5)).toHaveLength(1);
    expect(() => readCapped(at("to-linked"), 5, { noFollow: true })).toThrow("is a link");
  });
});

test("a secret that others can read is refused with the command that repairs it", () => {
  const path = at("api_key");
  writeDurable(path, "secret");
  checkSecretFile(path, root);
  checkSecretFile(at("not-there"), root);
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    chmodSync(path, mode);
    expect(() => checkSecretFile(path, root)).toThrow(PermissionError);
    expect(() => readSecret(path, 100, root)).toThrow(/chmod 600 "\$\{SVC_HOME:-\$HOME\/\.svc\}\/api_key"/);
  }
  expect(shellPath("/named/by/caller.pem", root)).toBe("'/named/by/caller.pem'");
  expect(shellPath("/it's", root)).toBe("'/it'\\''s'");
});

test("a path for a shell command runs nothing, whatever a file is called", () => {
  for (const name of ["$(touch ran)", "`touch ran`", 'a"; touch ran; "', "it's", "a b", "\\", "!1"]) {
    const path = join(root, name);
    const echoed = Bun.spawnSync(["sh", "-c", `printf %s ${shellPath(path, root)}`], {
      env: { SVC_HOME: root },
      cwd: root,
    });
    expect(echoed.stdout.toString()).toBe(path);
  }
  expect(readdirSync(root)).not.toContain("ran");
});

test("folders are private", () => {
  makeDirectory(at("a/b/c"));
  makeDirectory(at("a/b/c"));
  expect([at("a"), at("a/b"), at("a/b/c")].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o700]);
});

test("a lock excludes, is released on failure, and waiting for it ends", async () => {
  let inside = 0;
  let most = 0;
  const hold = async () => {
    most = Math.max(most, ++inside);
    await Bun.sleep(5);
    inside--;
  };
  await Promise.all(Array.from({ length: 5 }, () => withLock(at("lock"), hold)));
  expect(most).toBe(1);
  await expect(withLock(at("lock"), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await withLock(at("lock"), async () => {
    await expect(withLock(at("lock"), hold, 30)).rejects.toBeInstanceOf(TimeoutError);
  });
});
