/** install.sh as a new user runs it, of releases that `makeRelease` made; the host is on loopback. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sumsOf } from "../../../src/build/release/files.ts";
import { installerOf } from "../../../src/build/release/installer.ts";
import { SUMS } from "../../../src/build/release/make.ts";
import { buildInfo } from "../../../src/build-info.ts";
import { sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import { Screen } from "../../cli/terminal.ts";
import { SVC } from "../../e2e/home.ts";
import { ended } from "../../ended.ts";
import { scratchDir } from "../../fixture.ts";
import {
  asUser,
  filesBeside,
  homeWith,
  installed,
  lackOfUser,
  owned,
  ownFolder,
  programs,
  publish,
  runInstaller,
  standIn,
  TAG,
  USUAL,
} from "./installing.ts";
import { ReleaseHost } from "./release-host.ts";

const host = await ReleaseHost.start();
beforeAll(async () => {
  await publish(host, "0.1.0");
  await publish(host, "0.2.0");
});

const read = (path: string) => readFileSync(path, "utf8");
const done = { code: 0, err: "" };

describe.skipIf(lackOfUser !== undefined)("the installer (not as root without setpriv)", () => {
  beforeEach(() => host.reset());

  const shells = [["dash"], ["busybox", "sh"], ["bash", "--posix"], ["bash"]];
  for (const [name, ...words] of shells)
    test.skipIf(!Bun.which(name!))(`installs with ${[name, ...words].join(" ")} into an empty home`, async () => {
      const home = ownFolder();
      const run = await runInstaller(host, [], { home, shell: [Bun.which(name!)!, ...words] });
      expect(run).toMatchObject(done);
      const target = installed(home);
      expect(read(target)).toBe(standIn("0.2.0"));
      expect(statSync(target).mode & 0o777).toBe(0o755);
      expect(filesBeside(home)).toEqual(["svc"]);
      expect(readdirSync(home)).toEqual([".local"]);
      expect(host.paths()).toEqual([SUMS, `svc-${TAG}.gz`].map((file) => `/download/v0.2.0/${file}`));
      expect(run.out).toContain(`svc 0.2.0 is installed: ${target}\n`);
      expect(run.out).toContain(`export PATH="${home}/.local/bin:$PATH"`);
      expect(run.out).toContain(`  ${target} login --yes `);
      expect(run.out).toContain(`  ${target} mcp install `);
    });

  test("installs the built executable, which then has its version and the hash of the release", async () => {
    const { version } = buildInfo();
    const folder = scratchDir();
    const bytes = readFileSync(SVC);
    writeFileSync(join(folder, `svc-${TAG}`), bytes);
    // As the release's own, but compressed in two seconds.
    writeFileSync(join(folder, `svc-${TAG}.gz`), Bun.gzipSync(bytes, { library: "libdeflate", level: 1 }));
    writeFileSync(join(folder, SUMS), sumsOf(folder));
    for (const name of readdirSync(folder))
      host.files.set(`/built/download/v${version}/${name}`, readFileSync(join(folder, name)));
    const home = ownFolder();
    const env = { SVC_BASE_URL: `${host.url}/built` };
    expect(await runInstaller(host, [], { home, env, script: installerOf(version) })).toMatchObject(done);
    expect(sha256(readFileSync(installed(home)))).toBe(sha256(bytes));
    const { out } = await ended(
      Bun.spawn([...asUser, installed(home), "version"], {
        cwd: home,
        env: { HOME: home },
        stdout: "pipe",
        stderr: "pipe",
      }),
    );
    expect(out).toStartWith(`svc ${version} (`);
  });

  test("--version chooses a version, also an older one", async () => {
    const home = homeWith("0.2.0");
    for (const words of [["--version", "0.1.0"], ["--version=v0.2.0"]]) {
      const version = words
        .at(-1)!
        .replace(/^.*v(?=\d)/, "")
        .replace(/^.*=/, "");
      const run = await runInstaller(host, words, { home });
      expect(run).toMatchObject(done);
      expect(run.out).toContain(`svc ${version} is installed`);
      expect(run.out).toContain("restart your MCP clients");
      expect(read(installed(home))).toBe(standIn(version));
    }
  });

  test("names the next step: none after an update of a home that is ready, the runtime where it is of another version", async () => {
    const home = homeWith("0.1.0");
    const next = async (version = "0.2.0") => {
      const { out } = await runInstaller(host, ["--version", version], { home });
      return out.split("Next:\n")[1]?.match(/(?<=svc )\w+ \w+|login/g);
    };
    expect(await next()).toEqual(["login", "mcp install"]);
    mkdirSync(join(home, ".svc"));
    owned(join(home, ".svc"));
    writeFileSync(join(home, ".svc/login_license.jwt"), "");
    writeFileSync(join(home, ".svc/runtime"), "0.2.0\n");
    expect(await next("0.1.0")).toEqual(["runtime install"]);
    expect(await next()).toBeUndefined();
    rmSync(installed(home));
    expect(await next()).toEqual(["mcp install"]);
  });

  test.skipIf(!Bun.which("curl"))("shows the progress of the download on a terminal (needs curl)", async () => {
    const home = ownFolder();
    const script = join(home, "install.sh");
    writeFileSync(script, installerOf("0.2.0"), { mode: 0o755 });
    const env = { HOME: home, PATH: programs(USUAL), SVC_BASE_URL: host.url, COLUMNS: "80" };
    using screen = new Screen([...asUser, "/bin/sh", script], env);
    await screen.until(/ 100\.0%[\s\S]* is installed: /);
    expect(await screen.ended).toBe(0);
    host.change = (answer, { path }) => (path.endsWith(".gz") ? { ...answer, status: 404 } : answer);
    using failing = new Screen([...asUser, "/bin/sh", script], env);
    await failing.until(/curl: \(22\)[\s\S]*cannot be had \(its message is above\)/);
    expect(await failing.ended).toBe(1);
  });

  test("replaces an svc that runs, and the running one goes on", async () => {
    const home = homeWith("0.1.0");
    const command = [...asUser, installed(home), "wait"];
    const running = Bun.spawn(command, { env: { PATH: "/usr/bin:/bin" }, stdin: "pipe", stdout: "pipe" });
    const reader = running.stdout.getReader();
    await reader.read();
    expect(await runInstaller(host, [], { home })).toMatchObject(done);
    running.stdin.write("\n");
    await running.stdin.end();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain("svc 0.1.0");
    expect(read(installed(home))).toBe(standIn("0.2.0"));
  });

  test("needs few programs: wget does for curl, shasum or openssl for sha256sum, and the plain file without gzip", async () => {
    const sets = [
      ["wget", "gzip", "sha256sum"],
      ["curl", "shasum", "gzip"],
      ["curl", "openssl"],
    ];
    for (const names of sets.filter((each) => each.every((name) => Bun.which(name)))) {
      host.reset();
      const home = ownFolder();
      expect(await runInstaller(host, [], { home, path: programs(names) })).toMatchObject(done);
      expect(read(installed(home))).toBe(standIn("0.2.0"));
      expect(filesBeside(home)).toEqual(["svc"]);
      const file = names.includes("gzip") ? `svc-${TAG}.gz` : `svc-${TAG}`;
      expect(host.paths().at(-1)).toBe(`/download/v0.2.0/${file}`);
    }
  });

  for (const name of ["curl", "wget"])
    test.skipIf(!Bun.which(name))(`continues a download that was cut (needs ${name})`, async () => {
      const gz = `/download/v0.2.0/svc-${TAG}.gz`;
      host.change = (answer, { path }, count) => (path === gz && count <= 2 ? { ...answer, cut: 40 } : answer);
      const home = ownFolder();
      const path = programs([name, "gzip", "sha256sum"]);
      expect(await runInstaller(host, [], { home, path })).toMatchObject(done);
      const from = host.requests.filter((request) => request.path === gz).map((request) => request.from);
      expect(from).toEqual([0, 40, 80]);
      expect(read(installed(home))).toBe(standIn("0.2.0"));
    });

  for (const name of ["curl", "wget"])
    test.skipIf(!Bun.which(name))(`begins again where a host knows no ranges (needs ${name})`, async () => {
      const gz = `/download/v0.2.0/svc-${TAG}.gz`;
      host.change = (answer, { path }, count) => {
        if (path !== gz) return answer;
        return count === 1 ? { ...answer, cut: 40 } : { status: 200, body: host.read(gz)! };
      };
      const home = ownFolder();
      const path = programs([name, "gzip", "sha256sum"]);
      expect(await runInstaller(host, [], { home, path })).toMatchObject(done);
      expect(read(installed(home))).toBe(standIn("0.2.0"));
    });

  test("uses the proxy of http_proxy", async () => {
    const home = ownFolder();
    // Nothing listens at the address of the mirror: the host answers as its proxy.
    const env = { http_proxy: host.url, SVC_BASE_URL: "http://localhost:9" };
    expect(await runInstaller(host, [], { home, env })).toMatchObject(done);
    expect(host.paths()).toHaveLength(2);
  });

  test("installs into SVC_INSTALL_DIR, whose name may have spaces and be relative", async () => {
    const home = ownFolder();
    const own = join(home, "own folder");
    for (const name of [own, "./own folder//", "~/own folder"]) {
      const path = `${programs(USUAL)}:${own}`;
      const run = await runInstaller(host, [], { home, path, env: { SVC_INSTALL_DIR: name } });
      expect(run).toMatchObject(done);
      expect(run.out).not.toContain("is not in PATH");
      expect(run.out).toContain("  svc login --yes ");
    }
    expect(readdirSync(own)).toEqual(["svc"]);
    expect(readdirSync(home)).toEqual(["own folder"]);
  });

  test("names another svc that is in PATH, and who installed it", async () => {
    const home = ownFolder();
    const other = programs(USUAL, { svc: "" });
    const brew = scratchDir();
    mkdirSync(join(brew, "Cellar/svc/1/bin"), { recursive: true });
    mkdirSync(join(brew, "bin"));
    writeFileSync(join(brew, "Cellar/svc/1/bin/svc"), "", { mode: 0o755 });
    symlinkSync("../Cellar/svc/1/bin/svc", join(brew, "bin/svc"));
    chmodSync(brew, 0o755);
    const beside = `${home}/.local/bin`;
    const first = await runInstaller(host, [], { home, path: `${other}:${beside}:${brew}/bin` });
    expect(first.out).toContain(
      `Another svc comes first in PATH: ${other}/svc. Remove it, or put ${beside} before it.`,
    );
    expect(first.out).toContain(`Another svc is in PATH, from Homebrew: ${brew}/bin/svc. You need only one of them.`);
    expect(first.out).toContain(`  ${beside}/svc login --yes `);
    const second = await runInstaller(host, [], { home, path: `${beside}:${other}` });
    expect(second.out).not.toContain("Another svc");
    expect(second.out).toContain("  svc login --yes ");
  });

  test("--help names every option and variable, and does nothing", async () => {
    const home = ownFolder();
    const { out, code } = await runInstaller(host, ["--help"], { home });
    expect(code).toBe(0);
    for (const name of ["--version", "--modify-path", "--uninstall", "--help"]) expect(out).toContain(`  ${name}`);
    for (const [name] of installerOf("0.2.0").matchAll(/SVC_[A-Z_]+/g))
      if (name !== "SVC_HOME") expect(out).toContain(`  ${name}`);
    expect([readdirSync(home), host.requests]).toEqual([[], []]);
  });
});
