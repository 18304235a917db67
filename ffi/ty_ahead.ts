/** What a put makes of its texts, made before the put on a worker: while the save of the change before waits for the disk. */
import type { PackedStrings } from "./packing.ts";

/** The texts of one put. */
export class Ahead {
  private made: Promise<number> | undefined;

  /**
   * @param make the native call; resolves to the handle
   * @param close closes a handle that no put took
   */
  constructor(
    readonly texts: PackedStrings | undefined,
    private readonly make: () => Promise<number>,
    private readonly close: (handle: number) => void,
  ) {}

  /** Begins, at the first call. A failure is not reported: the put then makes everything itself, and fails as it does. */
  begin(): void {
    this.made ??= this.make().catch(() => 0);
  }

  /** The handle for the put of these texts, which closes it; 0: it was not begun, or failed. */
  async take(): Promise<number> {
    const handle = (await this.made) ?? 0;
    this.made = Promise.resolve(0);
    return handle;
  }

  /** Closes what no put has taken. */
  async end(): Promise<void> {
    const handle = await this.take();
    if (handle !== 0) this.close(handle);
  }
}
