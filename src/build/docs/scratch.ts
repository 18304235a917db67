/** A home for recordings, in which nothing of this machine shows. */
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SVC = join(import.meta.dir, "../../../dist/svc");

/** A folder with `svc` on its path; the folder's own name is never shown. */
export class Scratch implements Disposable {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), "svc-recorded-")));
  readonly home = join(this.#root, "home");
  /** In the home: of an executable elsewhere in a temporary folder svc warns. */
  readonly #bin = join(this.home, ".local", "bin");
  readonly env: Record<string, string>;

  constructor() {
    const bin = this.#bin;
    mkdirSync(bin, { recursive: true });
    try {
      linkSync(realpathSync(SVC), join(bin, "svc"));
    } catch {
      // Another file system.
      copyFileSync(SVC, join(bin, "svc"));
    }
    const path = `${bin}:/usr/local/bin:/usr/bin:/bin`;
    this.env = { PATH: path, HOME: this.home, TERM: "xterm-256color", LANG: "C.UTF-8" };
  }

  /** What a program printed, with folders as a reader has them. */
  shown(text: string): string {
    return text.replaceAll(this.#bin, "/usr/local/bin").replaceAll(this.home, "~");
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
