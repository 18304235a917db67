/** What install.sh does not install, or cannot: a sentence, no file of its own left, and the old svc as it was. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { installerOf } from "../../../src/build/release/installer.ts";
import { SUMS } from "../../../src/build/release/make.ts";
import { ended } from "../../ended.ts";
import { isRunning } from "../../processes.ts";
import { SmallDisk } from "../../small-disk.ts";
import {
  filesBeside,
  homeWith,
  installed,
  lackOfUser,
  owned,
  ownFolder,
  programs,
  publish,
  type Run,
  runInstaller,
  standIn,
  startInstaller,
  TAG,
  USUAL,
} from "./installing.ts";
import { type Found, ReleaseHost } from "./release-host.ts";

const GZ = `svc-${TAG}.gz`;
const tiny = new SmallDisk("1m");
const noexec = new SmallDisk("1m,noexec");

const host = await ReleaseHost.start();
beforeAll(async () => {
  await publish(host, "0.2.0");
  // It cannot be compressed: 96 KiB to download, and as much again to keep.
  await publish(
    host,
    "0.3.0",
    `${standIn("0.3.0")}exit\n${Buffer.from(crypto.getRandomValues(new Uint8Array(65536))).toString("base64url")}`,
  );
});
beforeEach(() => host.reset());

/** Runs the installer where 0.1.0 is installed. @returns what it prints on stderr, after checks of what is left */
async function refused(words: readonly string[], run: Run = {}, code = 1): Promise<string> {
  const home = run.home ?? homeWith("0.1.0");
  const { err, code: actual } = await runInstaller(host, words, { ...run, home });
  expect(err).toMatch(/^svc was not installed: .+\n$/);
  expect(actual).toBe(code);
  expect(filesBeside(home)).toEqual(["svc"]);
  expect(readFileSync(installed(home), "utf8")).toBe(standIn("0.1.0"));
  return err;
}

/** Answers requests for a file of the release in another way. */
function answering(name: string, change: (found: Found) => Partial<Found>): void {
  host.change = (found, { path }) => (path.endsWith(`/${name}`) ? { ...found, ...change(found) } : found);
}

describe.skipIf(lackOfUser !== undefined)("the installer (not as root without setpriv) refuses", () => {
  test.each([
    [["--versoin", "1.2.3"], "'--versoin' is not an option; --help lists them"],
    [["--version"], "--version needs a version, as in --version 0.2.0"],
    [["--version", "1.2"], "'1.2' is not a version such as 0.2.0"],
    [["--version", "../../1.2.3"], "'../../1.2.3' is not a version such as 0.2.0"],
    [["--version="], "'' is not a version such as 0.2.0"],
  ] as [string[], string][])("the words %j", async (words, sentence) => {
    expect(await refused(words, {}, 2)).toContain(sentence);
    expect(host.requests).toEqual([]);
  });

  test.each([
    "http://example.org/releases",
    "http://localhost.example.org",
    "http://127.0.0.1@example.org",
    "ftp://localhost",
    "https://",
    "releases",
  ])("the address %s", async (address) => {
    const sentence = await refused([], { env: { SVC_BASE_URL: address } }, 2);
    expect(sentence).toContain("SVC_BASE_URL must be an https address, or http on localhost; it is");
  });

  const uname = (system: string, machine: string) => ({ uname: `[ "$1" = -s ] && echo ${system} || echo ${machine}` });
  const musl = "echo 'musl libc (x86_64)' >&2; echo 'Version 1.2.4' >&2; exit 1";
  test.each([
    [uname("Linux", "riscv64"), "there is no svc for Linux on riscv64, only for Linux on x86-64 and arm64, and macOS"],
    [{ ...uname("Darwin", "x86_64"), sysctl: "echo 0" }, "there is no svc for Darwin on x86_64"],
    [uname("MINGW64_NT-10.0", "x86_64"), "svc does not run on Windows itself: run the installer in WSL2"],
    [{ ...uname("Linux", "aarch64"), ldd: musl }, "this system has musl, and svc needs glibc 2.17 or newer"],
    [{ ...uname("Linux", "aarch64"), ldd: "echo 'ldd (GNU libc) 2.12'" }, "this system has glibc 2.12, and svc needs"],
    [{ ...uname("Linux", "aarch64"), ldd: "exit 127", getconf: "echo glibc 2.5" }, "this system has glibc 2.5, and"],
    [uname("Linux", "aarch64"), "svc 0.2.0 at http://"],
    [{ ...uname("Darwin", "arm64"), sw_vers: "echo 12.7.6" }, "this system has macOS 12.7.6, and svc needs macOS 13"],
    [{ ...uname("Darwin", "arm64"), sw_vers: "echo 13.0" }, "has no executable for macos-arm64"],
    [{ ...uname("Darwin", "x86_64"), sysctl: "echo 1" }, "has no executable for macos-arm64"],
  ] as [Record<string, string>, string][])("a system where %j", async (scripts, sentence) => {
    // A Mac that pretends to be Linux has no /proc.
    const script = installerOf("0.2.0").replaceAll("/proc/self/exe", "/");
    expect(await refused([], { path: programs(USUAL, scripts), script })).toContain(sentence);
  });

  test.skipIf(TAG !== "linux-x86_64")("an x86-64 CPU without AVX2", async () => {
    const cpuinfo = join(ownFolder(), "cpuinfo");
    const script = installerOf("0.2.0").replaceAll("/proc/cpuinfo", cpuinfo);
    writeFileSync(cpuinfo, "processor\t: 0\nflags\t\t: fpu sse4_2 avx avx2x\n");
    expect(await refused([], { script })).toContain("this CPU has no AVX2, which svc needs on x86-64");
    // Where nothing tells, the new file has to show that it runs.
    for (const text of ["", "flags\t\t: fpu avx2 bmi1\n"]) {
      writeFileSync(cpuinfo, text);
      expect(await runInstaller(host, [], { script })).toMatchObject({ code: 0 });
    }
    rmSync(cpuinfo);
    expect(await runInstaller(host, [], { script })).toMatchObject({ code: 0, err: "" });
  });

  test.skipIf(process.platform !== "linux")("a system without /proc", async () => {
    const script = installerOf("0.2.0").replaceAll("/proc/self/exe", join(ownFolder(), "exe"));
    expect(await refused([], { script })).toContain("/proc is not mounted here, and svc needs it: mount it");
    expect(host.requests).toEqual([]);
  });

  test("to go on without a program for downloads or hashes", async () => {
    const sentences: [string[], Record<string, string>, string][] = [
      [["gzip", "sha256sum"], {}, "neither curl nor wget is there: install one of them"],
      [["gzip", "sha256sum"], { wget: "echo 'BusyBox v1.36'" }, "this wget is not GNU Wget, and may not check"],
      [["gzip", "curl"], {}, "nothing can compute SHA-256: install sha256sum, shasum or openssl"],
    ];
    for (const [names, scripts, sentence] of sentences)
      expect(await refused([], { path: programs(names, scripts) })).toContain(sentence);
    expect(host.requests).toEqual([]);
  });

  test("a version that the host does not have, with curl and with wget", async () => {
    for (const name of ["curl", "wget"].filter((each) => Bun.which(each))) {
      const sentence = await refused(["--version", "9.9.9"], { path: programs([name, "gzip", "sha256sum"]) });
      expect(sentence).toContain(`${host.url}/download/v9.9.9/${SUMS} cannot be had (`);
      expect(sentence).toMatch(/404.*\): is there a version 9\.9\.9\?/);
    }
  });

  test("to wait for a host that does not answer", async () => {
    const sentence = await refused([], { env: { SVC_BASE_URL: "http://127.0.0.1:9" } });
    expect(sentence).toContain("could not be downloaded (curl: (7) ");
  });

  test("to try again with a curl that may not write into hidden folders", async () => {
    const curl = "echo 'curl: (23) Failure writing output to destination' >&2; exit 23";
    const sentence = await refused([], { path: programs(USUAL, { curl }) });
    expect(sentence).toContain(".svc-install (curl: (23) Failure writing");
    expect(sentence).toContain("a curl from snap may not write to hidden folders, so install another curl, or choose");
  });

  const other = () => Buffer.from(Bun.gzipSync(standIn("0.2.0").replace("stand-in", "changed!")));
  const without = (text: Uint8Array, pattern: RegExp) => Buffer.from(Buffer.from(text).toString().replace(pattern, ""));
  test.each([
    [
      "another file",
      GZ,
      () => ({ body: other() }),
      /is not the released one \(SHA-256 is [0-9a-f]{64}, and must be [0-9a-f]{64}\)/,
    ],
    ["a file that is too short", GZ, ({ body }) => ({ body: body.subarray(0, -1) }), "is not the released one"],
    ["a page instead of a file", GZ, () => ({ body: Buffer.from("<html>") }), "is not the released one"],
    [
      "a list without the file",
      SUMS,
      ({ body }) => ({ body: without(body, /.*svc-[^.]*\n/) }),
      "has no executable for",
    ],
    [
      "a list without the compressed file",
      SUMS,
      ({ body }) => ({ body: without(body, /.*\.gz\n/) }),
      "does not have svc-",
    ],
    ["a list that ends within a hash", SUMS, ({ body }) => ({ body: body.subarray(0, 30) }), "has no executable for"],
    ["hashes that are too short", SUMS, ({ body }) => ({ body: without(body, /^./gm) }), "has no executable for"],
    ["a page instead of the list", SUMS, () => ({ body: Buffer.from("<html>") }), "has no executable for"],
    [
      "a list without an end",
      SUMS,
      () => ({ body: Buffer.alloc(4 << 20, "a"), isEndless: true }),
      "is larger than such a file may be",
    ],
    ["no content", GZ, () => ({ status: 403, body: Buffer.alloc(0) }), /cannot be had \(.*403/],
  ] as [string, string, (found: Found) => Partial<Found>, string | RegExp][])(
    "%s",
    async (_, name, change, sentence) => {
      answering(name, change);
      const printed = await refused([]);
      if (typeof sentence === "string") expect(printed).toContain(sentence);
      else expect(printed).toMatch(sentence);
    },
  );

  test("an executable that is of another version, does not run, or is larger than one may be", async () => {
    const cases: [string, string, string][] = [
      [standIn("0.1.9"), "", "the downloaded executable is not svc 0.5.0: it says 'svc 0.1.9 (stand-in)'"],
      ["#!/bin/sh\necho broken >&2\nexit 3\n", "", "does not run on this system ('svc version' ended with 3: broken)"],
      [
        "#!/bin/sh\nkill -ILL $$\n",
        "",
        "does not run on this system ('svc version' ended with 132: Illegal instruction",
      ],
      [`${standIn("0.5.0")}${"#".repeat(20_000)}`, "file_blocks_max=10", "could not be decompressed"],
    ];
    for (const [executable, limit, sentence] of cases) {
      await publish(host, "0.5.0", executable);
      const script = installerOf("0.5.0").replace(limit && /file_blocks_max=\d+/, limit);
      expect(await refused([], { script })).toContain(sentence);
    }
  });

  test("a directory that is closed, and things in the way, with the remedy", async () => {
    const home = homeWith("0.1.0");
    const closed = ownFolder();
    chmodSync(closed, 0o555);
    const remedy = "choose another directory with SVC_INSTALL_DIR";
    writeFileSync(join(home, "file"), "");
    const inTheWay = (name: string, make: (path: string) => void) => {
      mkdirSync(join(home, name));
      make(join(owned(join(home, name)), "svc"));
    };
    inTheWay("folder", mkdirSync);
    inTheWay("link", (path) => symlinkSync(installed(home), path));
    inTheWay("program", (path) => writeFileSync(path, "#!/bin/sh\necho other\n", { mode: 0o755 }));
    for (const [name, sentence] of [
      [closed, `you may not write to ${closed}: ${remedy}`],
      [`${closed}/sub`, `${closed}/sub cannot be made (mkdir: `],
      [`${home}/file/sub`, `${home}/file/sub cannot be made (mkdir: `],
      [`${home}/file`, `${home}/file cannot be made (mkdir: `],
      [`${home}/folder`, `${home}/folder/svc is in the way and is not a file: move it, or ${remedy}`],
      [`${home}/link`, `${home}/link/svc is a symbolic link`],
      [`${home}/program`, `${home}/program/svc is in the way and does not run as svc does: move it, or ${remedy}`],
    ])
      expect(await refused([], { home, env: { SVC_INSTALL_DIR: name! } })).toContain(sentence!);
    expect(host.requests).toEqual([]);
    expect(readdirSync(closed)).toEqual([]);
    for (const name of ["folder", "link", "program"]) expect(readdirSync(join(home, name))).toEqual(["svc"]);
    const { err } = await runInstaller(host, [], { env: { HOME: "" } });
    expect(err).toContain("HOME is not set: name a directory in SVC_INSTALL_DIR");
  });

  test.skipIf(!noexec.isPossible)("a directory that is mounted with noexec (needs the right to mount)", async () => {
    owned(noexec.path);
    const sentence = await refused([], { env: { SVC_INSTALL_DIR: noexec.path }, home: homeWith("0.1.0") });
    expect(sentence).toContain(`programs in ${noexec.path} may not be run (is it mounted with noexec?)`);
    expect([readdirSync(noexec.path), host.requests]).toEqual([[], []]);
  });

  test.skipIf(!tiny.isPossible)("a disk that is full at any step (needs the right to mount)", async () => {
    owned(tiny.path);
    chmodSync(tiny.path, 0o755);
    const target = join(tiny.path, "svc");
    writeFileSync(target, standIn("0.1.0"), { mode: 0o755 });
    const filler = join(tiny.path, "filler");
    const sentences = new Set<string>();
    let hasRoom = false;
    for (let pages = 0; !hasRoom; pages += pages < 8 ? 1 : 8) {
      tiny.fill();
      // Frees so many pages: a file system gives back whole ones.
      truncateSync(filler, Math.max(statSync(filler).size - 4096 * pages, 0));
      const run = { env: { SVC_INSTALL_DIR: tiny.path }, script: installerOf("0.3.0") };
      const { code, err } = await runInstaller(host, [], run);
      rmSync(filler);
      hasRoom = code === 0;
      if (!hasRoom) sentences.add(err);
      expect(readFileSync(target, "utf8")).toStartWith(standIn(hasRoom ? "0.3.0" : "0.1.0"));
      expect(readdirSync(tiny.path)).toEqual(["svc"]);
    }
    expect([...sentences]).toEqual([
      `svc was not installed: the disk of ${tiny.path} is full: free some space (svc needs 200 MB while it is installed), or choose another directory with SVC_INSTALL_DIR\n`,
    ]);
  });
});

describe.skipIf(lackOfUser !== undefined)("two installs (not as root without setpriv)", () => {
  test("do not meet: the second one says so, and the first one goes on", async () => {
    const home = homeWith("0.1.0");
    answering(GZ, () => ({ stop: 40 }));
    const first = startInstaller(host, [], { home });
    await host.stopped.promise;
    const { code, err } = await runInstaller(host, [], { home });
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("another install is at work: wait for its end; if there is none, remove "),
    ]);
    host.change = (answer) => answer;
    expect(filesBeside(home).sort()).toEqual([".svc-install", "svc"]);
    host.cut(); // the first one's download, which it continues
    expect(await ended(first)).toMatchObject({ code: 0 });
    expect(filesBeside(home)).toEqual(["svc"]);
  });

  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
    test(`leave nothing after ${name}, their download included`, async () => {
      const home = homeWith("0.1.0");
      answering(GZ, () => ({ stop: 40 }));
      const child = startInstaller(host, [], { home });
      await host.stopped.promise;
      child.kill(name);
      expect((await ended(child)).code).toBe({ SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }[name]);
      expect(filesBeside(home)).toEqual(["svc"]);
      expect(readFileSync(installed(home), "utf8")).toBe(standIn("0.1.0"));
    });

  test("continue after one that was killed: its lock and its files are taken over", async () => {
    const home = homeWith("0.1.0");
    const work = join(home, ".local/bin/.svc-install");
    answering(GZ, () => ({ stop: 40 }));
    const child = startInstaller(host, [], { home });
    await host.stopped.promise;
    child.kill("SIGKILL");
    await child.exited;
    expect(isRunning(Number(readFileSync(join(work, "pid"), "utf8")))).toBe(false);
    host.reset();
    const runs = await Promise.all([runInstaller(host, [], { home }), runInstaller(host, [], { home })]);
    expect(runs.some(({ code }) => code === 0)).toBe(true);
    expect(filesBeside(home)).toEqual(["svc"]);
    // One that was killed before it could write its id.
    mkdirSync(work);
    owned(work);
    expect(await runInstaller(host, [], { home })).toMatchObject({ code: 0 });
    expect(filesBeside(home)).toEqual(["svc"]);
  });
});
