/** Runs a program on a pseudo-terminal of its own, as a person sees and types it. */
import { MAIN, NO_HOME } from "./support.ts";

/** What runs `svc` from source, with a build that brings no runtime. */
export function svcCommand(words: readonly string[], preload: readonly string[]): string[] {
  return [process.execPath, ...preload.flatMap((file) => ["--preload", file]), MAIN, ...words];
}

export class Screen implements Disposable {
  /** All that was shown so far. */
  text = "";
  #changed = Promise.withResolvers<void>();
  readonly #child: Bun.Subprocess;

  constructor(command: string[], env: Record<string, string>) {
    this.#child = Bun.spawn(command, {
      env: { PATH: process.env.PATH, HOME: NO_HOME, ...env },
      terminal: {
        cols: 200,
        rows: 50,
        data: (_, bytes) => {
          this.text += new TextDecoder().decode(bytes);
          this.#changed.resolve();
        },
      },
    });
    void this.#child.exited.then(() => this.#changed.resolve());
  }

  /** Waits until something is shown. @throws with the whole screen where the program ends before */
  async until(wanted: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = wanted.exec(this.text);
      if (found) return found;
      if (this.#child.exitCode !== null) throw new Error(`ended without ${wanted}: ${this.text}`);
      this.#changed = Promise.withResolvers();
      await this.#changed.promise;
    }
  }

  type(keys: string): void {
    this.#child.terminal!.write(keys);
  }

  /** The exit code. */
  get ended(): Promise<number> {
    return this.#child.exited;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
    this.#child.terminal!.close();
  }
}
