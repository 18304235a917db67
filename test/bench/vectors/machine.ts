/** What the bare machine does in the same minutes: reading memory, and scoring every row by our own best f32 kernel. */
import { CFunction, type Pointer, ptr, read } from "bun:ffi";
import { openBuiltNative } from "../../native.ts";

/** `dot_f32` is the first function of the kernel's table, after two 32-bit numbers (ffi/ame_kernel/ame_kernel.h). */
const DOT_F32_OFFSET = 8;
/** Larger than any cache. */
const STREAM_BYTES = 256 * 1024 * 1024;
/** Numbers of the query that the stream is scored with: 8 KiB, which stays in the first-level cache. */
const STREAM_DIM = 2048;

type Dot = (q: Pointer, rows: Pointer, n: bigint, dim: bigint, out: Pointer) => void;

/** Measures by CPU time, as contenders are measured. */
export class Machine {
  private readonly stream = new Float32Array(STREAM_BYTES / 4).fill(0.5);
  private readonly query = new Float32Array(STREAM_DIM).fill(0.25);
  private readonly sums = new Float32Array(STREAM_BYTES / 4 / STREAM_DIM);

  private constructor(
    private readonly dot: Dot,
    /** The CPU path of the kernel. */
    readonly isa: string,
  ) {}

  static async open(): Promise<Machine> {
    const { kernel } = await openBuiltNative();
    const at = read.ptr(kernel.table, DOT_F32_OFFSET) as Pointer;
    const dot = CFunction({ ptr: at, args: ["ptr", "ptr", "u64", "u64", "ptr"], returns: "void" });
    return new Machine(dot as unknown as Dot, kernel.activeIsa());
  }

  /** Bytes a second that one core reads: 256 MiB once through `dot_f32` with rows of 2,048 numbers. */
  bandwidth(): number {
    const rows = this.sums.length;
    return STREAM_BYTES / seconds(() => this.score(this.query, this.stream, rows, STREAM_DIM, this.sums));
  }

  /** Seconds in which `dot_f32` scores every row of a matrix with one query, without choosing the best. */
  scan(data: Float32Array, dim: number, query: Float32Array): number {
    const rows = data.length / dim;
    const out = new Float32Array(rows);
    return seconds(() => this.score(query, data, rows, dim, out));
  }

  private score(q: Float32Array, data: Float32Array, rows: number, dim: number, out: Float32Array): void {
    this.dot(ptr(q), ptr(data), BigInt(rows), BigInt(dim), ptr(out));
  }
}

/** CPU seconds of one run: the mean of as many as fit into a fifth of a second. */
function seconds(work: () => void): number {
  work();
  let runs = 0;
  const start = performance.now();
  const cpu = process.cpuUsage();
  do {
    work();
    runs++;
  } while (performance.now() - start < 200);
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1e6 / runs;
}
