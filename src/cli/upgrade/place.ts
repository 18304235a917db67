/**
 * The executable's place, and how another file takes it. All that an upgrade makes is in one folder beside the
 * executable, which only this user can enter: what was verified there cannot be replaced before it is in place. A kill
 * leaves that folder and the old executable, and the next upgrade removes what is left in it.
 */
import {
  chmodSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { diskError, syncDirectory, withLock, writeNew } from "../../durable.ts";
import { attempt, OSError, PermissionError, TimeoutError } from "../../errors.ts";

/** What is not executable for its owner could not be started. */
const OWNER_RUNS = 0o700;

/** Begins the name of a folder in which a new file tries itself. */
export const TRIAL_PREFIX = "svc-upgrade-";

/** Errors of file systems, such as some shares, that cannot give a file a second name. */
const NO_LINKS = new Set(["EPERM", "EACCES", "EXDEV", "EMLINK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

export class Place {
  /** The folder beside the executable. */
  readonly folder: string;
  /** The file that an upgrade replaced. */
  readonly previous: string;
  /** The file that is to take the executable's place. */
  readonly fresh: string;
  private readonly aside: string;
  private readonly trial: string;
  private readonly before: Stats;

  /** @param executable its path, without links @throws OSError where it is not there any more */
  constructor(readonly executable: string) {
    this.folder = join(dirname(executable), `.${basename(executable)}-upgrade`);
    // Programs show the names of what they run.
    this.previous = join(this.folder, `${basename(executable)}.previous`);
    this.fresh = join(this.folder, `${basename(executable)}.new`);
    this.aside = join(this.folder, `${basename(executable)}.aside`);
    this.trial = join(this.folder, "trial");
    const before = statSync(executable, { throwIfNoEntry: false });
    if (!before?.isFile())
      throw new OSError("this svc was moved or removed while it runs: start the one that is there now");
    this.before = before;
  }

  /**
   * Runs an upgrade while no other one of this executable does, and leaves nothing but the previous file.
   * @throws TimeoutError while another one runs; PermissionError where the folder is another user's; OSError
   */
  async alone<T>(action: () => Promise<T>): Promise<T> {
    this.makeFolder();
    return withLock(
      join(this.folder, "lock"),
      async () => {
        this.tidy();
        try {
          return await action();
        } finally {
          this.tidy();
        }
      },
      0,
    ).catch((error) => {
      if (!(error instanceof TimeoutError && error.reason === "locked")) throw error;
      throw new TimeoutError("another 'svc upgrade' of this file is running: wait until it ends", "locked");
    });
  }

  /** Writes the file that is to take the executable's place, durably. @throws OSError */
  put(bytes: Uint8Array): void {
    writeNew(this.fresh, bytes, (this.before.mode & 0o777) | OWNER_RUNS);
    syncDirectory(this.folder);
  }

  /** Remembers a folder in which the new file tries itself, so that it is removed also after a kill. */
  noteTrial(folder: string): void {
    try {
      symlinkSync(folder, this.trial);
    } catch (error) {
      throw diskError(error, "write", this.trial);
    }
  }

  /**
   * Puts a file in the executable's place, in one step, and keeps the old one as the previous one.
   * @param from `fresh` or `previous`
   * @throws OSError where something else has replaced the executable meanwhile, or the disk fails; it stands then
   */
  swap(from: string, link: (path: string, name: string) => void = linkSync): void {
    const now = statSync(this.executable, { throwIfNoEntry: false });
    if (now?.ino !== this.before.ino || now.dev !== this.before.dev)
      throw new OSError("another program has replaced svc meanwhile: run 'svc version', and upgrade again if need be");
    try {
      this.keepAside(link);
      renameSync(from, this.executable);
      renameSync(this.aside, this.previous);
      syncDirectory(this.folder);
      syncDirectory(dirname(this.executable));
    } catch (error) {
      throw diskError(error, "replace", this.executable);
    }
  }

  /** Whether a file is the one that is in the executable's place now. */
  isCurrent({ dev, ino }: Pick<Stats, "dev" | "ino">): boolean {
    const now = attempt(() => statSync(this.executable));
    return now?.dev === dev && now.ino === ino;
  }

  private keepAside(link: (path: string, name: string) => void): void {
    try {
      link(this.executable, this.aside);
    } catch (error) {
      if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
      copyFileSync(this.executable, this.aside);
      chmodSync(this.aside, this.before.mode & 0o777);
    }
  }

  private makeFolder(): void {
    try {
      mkdirSync(this.folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw diskError(error, "create", this.folder);
      const stat = lstatSync(this.folder);
      if (stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & 0o022) === 0) return;
      throw new PermissionError(
        `'${basename(this.folder)}' beside svc is not a folder that only this user can write: remove it, and upgrade again`,
      );
    }
  }

  /** Removes what an upgrade that was killed has left; the caller holds the lock. */
  private tidy(): void {
    try {
      const trial = attempt(() => readlinkSync(this.trial));
      if (trial !== undefined && basename(trial).startsWith(TRIAL_PREFIX)) remove(trial);
      // A kill between two renames: the executable was replaced, and this is the file before.
      const aside = lstatSync(this.aside, { throwIfNoEntry: false });
      if (aside?.isFile() && !this.isCurrent(aside)) renameSync(this.aside, this.previous);
      for (const path of [this.trial, this.fresh, this.aside]) remove(path);
      if (lstatSync(this.previous, { throwIfNoEntry: false })?.isFile() === false) remove(this.previous);
    } catch (error) {
      throw diskError(error, "remove", this.folder);
    }
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
