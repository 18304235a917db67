/**
 * `svc mcp --monitor`: every message in both directions as JSON lines, to see what a client really sends.
 * Replies never wait for it: entries are written asynchronously, in order, and dropped with a note if the disk lags.
 */
import { closeSync, constants, fchmodSync, mkdirSync, openSync, write } from "node:fs";
import { basename, dirname } from "node:path";
import { OSError } from "../errors.ts";

/** Bytes of one entry; a longer message is cut. */
export const MONITOR_ENTRY_BYTES_MAX = 64 * 1024;
/** Bytes waiting for the disk beyond which entries are dropped and counted. */
const PENDING_BYTES_MAX = 4 * 1024 * 1024;

/** From the client, or to it. */
type Direction = "in" | "out";

/** An append-only log of JSON-RPC messages, readable by its owner only. */
export class Monitor {
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  private dropped = 0;
  private writing: Promise<void> | undefined;

  private constructor(
    private readonly fd: number,
    private readonly warn: (line: string) => void,
  ) {}

  /**
   * Opens the log, creating it and its folder where absent.
   * @param warn called once, if writing fails later on; the server goes on without the log
   * @throws OSError if it cannot be opened
   */
  static open(path: string, warn: (line: string) => void = () => {}): Monitor {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const flags =
        constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const fd = openSync(path, flags, 0o600);
      fchmodSync(fd, 0o600);
      return new Monitor(fd, warn);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
      throw new OSError(`cannot open the monitor log '${basename(path)}' (${code}): choose another with --monitor-log`);
    }
  }

  /**
   * Records a message.
   * @param json the message's own JSON on one line; undefined for input that is not JSON
   * @param text that input, or a description of it
   */
  record(direction: Direction, json: string | undefined, text?: string): void {
    if (this.pendingBytes > PENDING_BYTES_MAX) {
      this.dropped += 1;
      return;
    }
    if (this.dropped > 0) {
      this.append(`{"time":"${new Date().toISOString()}","dropped":${this.dropped}}\n`);
      this.dropped = 0;
    }
    this.append(entry(direction, json, text));
    this.writing ??= this.writeAll();
  }

  /** Writes pending entries and closes the file. */
  async close(): Promise<void> {
    await this.writing;
    closeSync(this.fd);
  }

  private append(line: string): void {
    const bytes = Buffer.from(line);
    this.pending.push(bytes);
    this.pendingBytes += bytes.length;
  }

  private async writeAll(): Promise<void> {
    // One turn of the event loop later, so that the reply goes first and entries of one turn share a write.
    await new Promise(setImmediate);
    try {
      while (this.pending.length > 0) {
        const batch = Buffer.concat(this.pending);
        this.pending = [];
        for (let done = 0; done < batch.length; ) done += await writeSome(this.fd, batch.subarray(done));
        this.pendingBytes -= batch.length;
      }
      this.writing = undefined;
    } catch (error) {
      // `writing` stays set and the pending bytes stay counted: nothing is written any more, and memory stays bounded.
      this.pending = [];
      this.pendingBytes = Number.POSITIVE_INFINITY;
      this.warn(`the monitor log stopped: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
    }
  }
}

function writeSome(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, (error, written) => (error ? reject(error) : resolve(written)));
  });
}

function entry(direction: Direction, json: string | undefined, text = ""): string {
  const head = `{"time":"${new Date().toISOString()}","direction":"${direction}"`;
  // A JSON line may end in a carriage return.
  const whole = json !== undefined && `${head},"message":${json.trim()}}\n`;
  if (whole && Buffer.byteLength(whole) <= MONITOR_ENTRY_BYTES_MAX) return whole;
  const shown = json ?? text;
  // Escaping can make a character six bytes long: an eighth fits with any text.
  const cut = shown.slice(0, MONITOR_ENTRY_BYTES_MAX / 8).toWellFormed();
  const truncated = cut.length < shown.length ? `,"truncated":true,"length":${shown.length}` : "";
  return `${head},"text":${JSON.stringify(cut)}${truncated}}\n`;
}
