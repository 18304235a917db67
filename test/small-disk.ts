/** A file system of a few megabytes for tests of a full disk. Mounting it needs the right to. */
import { afterAll, beforeAll } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "./fixture.ts";

const mount = process.platform === "linux" ? Bun.which("mount") : null;

/** A small disk that the tests of a file share. */
export class SmallDisk {
  readonly path = scratchDir();
  /** Whether this machine lets the test mount it: elsewhere the native tests' disk, which counts blocks, has to do. */
  readonly isPossible: boolean;

  constructor(private readonly size: string) {
    this.isPossible = this.mount() && Bun.spawnSync(["umount", this.path]).success;
    let isMounted = false;
    beforeAll(() => {
      isMounted = this.isPossible && this.mount();
    });
    afterAll(() => {
      if (isMounted) Bun.spawnSync(["umount", "--lazy", this.path]);
    });
  }

  /** Takes what room there is, to the last block. @returns what frees it again */
  fill(): () => void {
    const path = join(this.path, "filler");
    const { success } = Bun.spawnSync(["dd", "if=/dev/zero", `of=${path}`, "bs=4096"], { stderr: "ignore" });
    if (success) throw new Error("the disk has room for all that dd writes");
    return () => rmSync(path);
  }

  private mount(): boolean {
    if (mount === null) return false;
    return Bun.spawnSync([mount, "-t", "tmpfs", "-o", `size=${this.size}`, "none", this.path]).success;
  }
}
