/**
 * What hooks remember of a client's session: a file under SVC_HOME for each, whose time is when it began, and another one
 * once its model was reminded to store what lasts.
 */
import { closeSync, mkdirSync, openSync, readdirSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { hookSessionsPath } from "../../../paths.ts";

/** Sessions that began earlier are forgotten. */
const KEPT_MS = 30 * 24 * 3600 * 1000;
const REMINDED = ".reminded";

export class HookSession {
  private readonly folder: string;
  private readonly path: string;

  /** @param id the client's; a digest of it is the file's name */
  constructor(home: string, client: string, id: string) {
    this.folder = hookSessionsPath(home);
    this.path = join(this.folder, new Bun.CryptoHasher("sha256").update(`${client} ${id}`).digest("hex").slice(0, 32));
  }

  /** Remembers that it begins now, unless it has begun, and forgets old ones. @throws where that cannot be written */
  begin(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.forgetOld();
    createOnce(this.path);
  }

  /** When it began, in milliseconds since 1970; undefined where that is not known. */
  get begun(): number | undefined {
    return statSync(this.path, { throwIfNoEntry: false })?.mtimeMs;
  }

  get isReminded(): boolean {
    return statSync(this.path + REMINDED, { throwIfNoEntry: false }) !== undefined;
  }

  /** Remembers that the model was reminded. @returns whether this is the first time, of two processes at once too */
  remind(): boolean {
    return createOnce(this.path + REMINDED);
  }

  private forgetOld(): void {
    const oldest = Date.now() - KEPT_MS;
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name);
      if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? oldest) < oldest) unlinkSync(path);
    }
  }
}

/** Makes an empty file; false where it is there. @throws where it cannot be made */
function createOnce(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
