/** What install.sh changes in profiles of shells, only with --modify-path, and what --uninstall removes. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { SUMS } from "../../../src/build/release/make.ts";
import { withLock } from "../../../src/durable.ts";
import { ended } from "../../ended.ts";
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
  await publish(host, "0.2.0");
  // The stand-in runs on macOS as well.
  const folder = "/download/v0.2.0";
  const asMac = (name: string) => name.replaceAll(`svc-${TAG}`, "svc-macos-arm64");
  const sums = Buffer.from(host.read(`${folder}/${SUMS}`)!).toString();
  for (const [path, file] of [...host.files]) host.files.set(asMac(path), file);
  host.files.set(`${folder}/${SUMS}`, Buffer.from(sums + asMac(sums)));
});

const read = (path: string) => readFileSync(path, "utf8");
const block = (line: string) => `# >>> svc >>>\n${line}\n# <<< svc <<<\n`;
const blockFor = (dir: string) => block(`case ":$PATH:" in *":${dir}:"*) ;; *) export PATH="${dir}:$PATH" ;; esac`);

/** Writes a file of the user. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  owned(dirname(path));
  owned(path);
}

describe.skipIf(lackOfUser !== undefined)("the installer (not as root without setpriv)", () => {
  test("changes no profile unless asked to, and not if SVC_NO_MODIFY_PATH is set", async () => {
    const home = ownFolder();
    write(join(home, ".bashrc"), "alias a=b\n");
    for (const words of [[], ["--modify-path"]]) {
      const env = { SHELL: "/bin/bash", SVC_NO_MODIFY_PATH: words.length > 0 ? "1" : "" };
      const { code, out } = await runInstaller(host, words, { home, env });
      expect([code, out]).toEqual([0, expect.stringContaining("is not in PATH. Add it to your shell's profile")]);
      expect(out).not.toContain("for new shells");
      expect(readdirSync(home).sort()).toEqual([".bashrc", ".local"]);
      expect(read(join(home, ".bashrc"))).toBe("alias a=b\n");
    }
  });

  const fish = (dir: string) => block(`contains -- "${dir}" $PATH; or set -gx PATH "${dir}" $PATH`);
  test.each([
    ["/bin/bash", "Linux", {}, ".bashrc", blockFor],
    ["/bin/zsh", "Linux", {}, ".zshrc", blockFor],
    ["/usr/bin/zsh", "Linux", { ZDOTDIR: "zsh" }, "zsh/.zshrc", blockFor],
    ["/usr/bin/fish", "Linux", {}, ".config/fish/config.fish", fish],
    ["/bin/dash", "Linux", {}, ".profile", blockFor],
    ["", "Linux", {}, ".profile", blockFor],
    ["/bin/bash", "Darwin", {}, ".profile", blockFor],
  ] as [string, string, Record<string, string>, string, (dir: string) => string][])(
    "--modify-path with SHELL='%s' on %s %j: adds a block to %s, once, and --uninstall removes it",
    async (shell, system, folders, name, expected) => {
      const home = ownFolder();
      const profile = join(home, name);
      const env: Record<string, string> = { SHELL: shell };
      for (const [variable, folder] of Object.entries(folders)) env[variable] = join(home, folder);
      const uname = `[ "$1" = -s ] && echo ${system} || echo arm64`;
      const path = system === "Linux" ? programs(USUAL) : programs(USUAL, { uname });
      const before = "umask 022\n";
      for (const text of [undefined, before, "no end of line"]) {
        if (text !== undefined) {
          write(profile, text);
          chmodSync(profile, 0o640);
        }
        for (let run = 0; run < 2; run++) {
          const { code, err, out } = await runInstaller(host, ["--modify-path"], { home, env, path });
          expect([code, err]).toEqual([0, ""]);
          expect(out).toContain(`${profile} puts ${home}/.local/bin in PATH for new shells.`);
          const whole = text && !text.endsWith("\n") ? `${text}\n` : (text ?? "");
          expect(read(profile)).toBe(whole + expected(`${home}/.local/bin`));
          if (text !== undefined) expect(statSync(profile).mode & 0o777).toBe(0o640);
        }
        expect(await runInstaller(host, ["--uninstall"], { home, env, path })).toMatchObject({ code: 0, err: "" });
        if (text === undefined) expect(existsSync(profile)).toBe(false);
        else expect(read(profile).trimEnd()).toBe(text.trimEnd());
        expect(readdirSync(dirname(profile)).filter((each) => each.includes("svc"))).toEqual([]);
      }
    },
  );

  test("the block puts svc in PATH of a new shell, once", async () => {
    const home = ownFolder();
    await runInstaller(host, ["--modify-path"], { home });
    const script = '. "$HOME/.profile"; . "$HOME/.profile"; echo "$PATH"; svc version';
    const env = { HOME: home, PATH: "/usr/bin:/bin" };
    const { out } = await ended(
      Bun.spawn([...asUser, "/bin/sh", "-c", script], { env, stdout: "pipe", stderr: "pipe" }),
    );
    expect(out).toBe(`${home}/.local/bin:/usr/bin:/bin\nsvc 0.2.0 (stand-in)\n`);
  });

  test("another directory replaces the block; text after it and a block without an end stay", async () => {
    const home = ownFolder();
    const profile = join(home, ".profile");
    write(profile, `before\n${blockFor("/old")}after\n`);
    await runInstaller(host, ["--modify-path"], { home });
    expect(read(profile)).toBe(`before\nafter\n${blockFor(`${home}/.local/bin`)}`);
    write(profile, "before\n# >>> svc >>>\nafter\n");
    await runInstaller(host, ["--uninstall"], { home });
    expect(read(profile)).toBe("before\n# >>> svc >>>\nafter\n");
  });

  test("a profile that cannot be changed: svc is installed, and a sentence says what to add", async () => {
    const home = ownFolder();
    const profile = join(home, ".profile");
    write(join(home, "dotfiles/profile"), "");
    symlinkSync("dotfiles/profile", profile);
    const linked = await runInstaller(host, ["--modify-path"], { home });
    expect([linked.code, linked.out]).toEqual([1, expect.stringContaining("Next:\n")]);
    expect(linked.err).toStartWith("svc 0.2.0 is installed, but PATH was not changed: ");
    expect(linked.err).toEndWith(
      `is a symbolic link, which the installer does not change: add these lines:\n${blockFor(`${home}/.local/bin`)}\n`,
    );
    const odd = join(home, "a$b");
    const named = await runInstaller(host, ["--modify-path"], { home, env: { SVC_INSTALL_DIR: odd } });
    expect(named.err).toContain(`${odd} has a character that PATH or a profile cannot hold`);
    await runInstaller(host, [], { home });
    write(join(home, "dotfiles/profile"), blockFor(`${home}/.local/bin`));
    const removed = await runInstaller(host, ["--uninstall"], { home });
    expect(removed.err).toStartWith(`${installed(home)} is removed, but not all: ${profile} is a symbolic link`);
    expect(removed.err).toEndWith("remove the lines from '# >>> svc >>>' to '# <<< svc <<<'\n");
    const bash = { home, env: { SHELL: "/bin/bash" } };
    write(join(home, ".bashrc"), "alias a=b\n");
    chmodSync(join(home, ".bashrc"), 0o444);
    const readOnly = await runInstaller(host, ["--modify-path"], bash);
    expect(readOnly.out).not.toContain("for new shells");
    expect(readOnly.err).toContain(
      `${home}/.bashrc is read-only: make it writable and run this again, or add these lines`,
    );
    chmodSync(join(home, ".bashrc"), 0o644);
    const path = programs(USUAL, {
      mv: `case "$3" in *.bashrc) echo no >&2; exit 1 ;; esac; exec ${Bun.which("mv")} "$@"`,
    });
    const unmoved = await runInstaller(host, ["--modify-path"], { ...bash, path });
    expect(unmoved).toMatchObject({ code: 1, err: "svc 0.2.0 is installed, but PATH was not changed: no\n" });
    expect(unmoved.out).not.toContain("for new shells");
    expect(readdirSync(home).filter((name) => name.startsWith(".bashrc"))).toEqual([".bashrc"]);
    chmodSync(home, 0o555);
    const closed = await runInstaller(host, ["--modify-path"], bash);
    expect(closed.err).toContain(`PATH was not changed: ${home}/.bashrc could not be written`);
    expect(existsSync(installed(home))).toBe(true);
    expect(read(profile)).toBe(blockFor(`${home}/.local/bin`));
  });
});

describe.skipIf(lackOfUser !== undefined)("--uninstall (not as root without setpriv)", () => {
  test("removes svc, and says where the memories are", async () => {
    const home = homeWith("0.1.0");
    write(join(home, ".svc/memory"), "");
    const { code, out } = await runInstaller(host, ["--uninstall"], { home });
    expect([code, out]).toEqual([
      0,
      `${installed(home)} is removed. MCP clients that were connected still have an entry for it in their settings.
Your memories stay in ${home}/.svc. To delete them as well: rm -r "${home}/.svc"
`,
    ]);
    expect(filesBeside(home)).toEqual([]);
    expect(existsSync(join(home, ".svc/memory"))).toBe(true);
    const again = await runInstaller(host, ["--uninstall"], { home });
    expect(again).toMatchObject({ code: 1, out: "" });
    expect(again.err).toContain(`svc was not removed: there is no ${installed(home)}; if svc is in another directory`);
  });

  test("changes nothing if svc is in another directory", async () => {
    const home = homeWith("0.1.0");
    const previous = join(home, ".local/bin/.svc-upgrade/svc.previous");
    const profile = join(home, ".profile");
    write(previous, "");
    write(profile, blockFor(`${home}/.local/bin`));
    const elsewhere = join(home, "elsewhere");
    const missing = await runInstaller(host, ["--uninstall"], { home, env: { SVC_INSTALL_DIR: elsewhere } });
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining(`there is no ${elsewhere}/svc`)]);
    write(join(elsewhere, "svc"), standIn("0.1.0"));
    chmodSync(join(elsewhere, "svc"), 0o755);
    const other = await runInstaller(host, ["--uninstall"], { home, env: { SVC_INSTALL_DIR: elsewhere } });
    expect(other).toMatchObject({ code: 0, err: "" });
    expect([existsSync(elsewhere + "/svc"), existsSync(installed(home)), existsSync(previous)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(read(profile)).toBe(blockFor(`${home}/.local/bin`));
  });

  test("waits for no install or upgrade that is at work, and says so", async () => {
    const home = homeWith("0.1.0");
    const pid = join(home, ".local/bin/.svc-install/pid");
    write(pid, `${process.pid}\n`);
    const installing = await runInstaller(host, ["--uninstall"], { home });
    expect(installing).toMatchObject({ code: 1, err: expect.stringContaining("another install is at work") });
    rmSync(dirname(pid), { recursive: true });
    const lock = join(home, ".local/bin/.svc-upgrade/lock");
    write(lock, "");
    if (Bun.which("flock")) {
      const upgrading = await withLock(lock, () => runInstaller(host, ["--uninstall"], { home }));
      expect(upgrading.err).toBe(
        "svc was not removed: 'svc upgrade' is at work: wait for its end, and run this again\n",
      );
      expect(filesBeside(home).sort()).toEqual([".svc-upgrade", "svc"]);
    }
    expect(await runInstaller(host, ["--uninstall"], { home })).toMatchObject({ code: 0, err: "" });
    expect(filesBeside(home)).toEqual([]);
  });

  test("leaves another program, and removes what a killed install and an upgrade left", async () => {
    const home = homeWith("0.1.0");
    writeFileSync(installed(home), "#!/bin/sh\necho other\n");
    const { code, err } = await runInstaller(host, ["--uninstall"], { home });
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("does not run as svc does, or is a link: remove it yourself"),
    ]);
    writeFileSync(installed(home), standIn("0.1.0"));
    write(join(home, ".local/bin/.svc-install/pid"), "999999999\n");
    write(join(home, ".local/bin/.svc-upgrade/svc.previous"), "");
    expect(await runInstaller(host, ["--uninstall"], { home })).toMatchObject({ code: 0, err: "" });
    expect(filesBeside(home)).toEqual([]);
  });
});
