/**
 * The interface to the C library: the system calls that node:fs lacks, opened when first needed. Sealed memory files,
 * `flock`, the exchange of two directories in one step, the sync that reaches the medium on macOS, and the limits of
 * the C library's heap, and times in this machine's time zone.
 *
 * None of these functions reports `errno`: between two calls the JavaScript engine may make system calls of its own, so
 * what `errno` holds afterwards may be theirs. Callers get success or not, and none of them needs more.
 */
import { dlopen, FFIType, ptr as pointerTo } from "bun:ffi";

const { i32, u32, i64, u64, ptr } = FFIType;
const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2; // Linux renameat2(2) and macOS renamex_np(2) agree on the number
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;
const LOCK_UN = 8;
const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const MFD_NOEXEC_SEAL = 8;
const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
const F_SEAL_SEAL = 1;
const F_SEAL_SHRINK = 2;
const F_SEAL_GROW = 4;
const F_SEAL_WRITE = 8;
const SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
const SEAL_TRIES = 20;
const SEAL_PAUSE_MS = 20;
const F_FULLFSYNC = 51;
const M_ARENA_MAX = -8;
const M_MMAP_THRESHOLD = -3;
const LARGE_BYTES = 512 * 1024;
const MADV_HUGEPAGE = 14;
const HUGE_BYTES = 2 * 1024 * 1024;

/** Number of renameat2(2): glibc wraps it only since 2.28, above our floor of 2.17. */
const SYS_RENAMEAT2 = process.arch === "arm64" ? 276 : 316;

function openLinux() {
  return dlopen("libc.so.6", {
    memfd_create: { args: [ptr, u32], returns: i32 },
    fcntl: { args: [i32, i32, i32], returns: i32 },
    flock: { args: [i32, i32], returns: i32 },
    mallopt: { args: [i32, i32], returns: i32 },
    syscall: { args: [i64, i32, ptr, i32, ptr, u32], returns: i64 },
  }).symbols;
}

// fcntl is declared with two arguments: on arm64 macOS variadic arguments travel on the stack, and F_FULLFSYNC takes
// none.
function openMac() {
  return dlopen("libSystem.B.dylib", {
    fcntl: { args: [i32, i32], returns: i32 },
    flock: { args: [i32, i32], returns: i32 },
    renamex_np: { args: [ptr, ptr, u32], returns: i32 },
    setenv: { args: [ptr, ptr, i32], returns: i32 },
  }).symbols;
}

/** On their own: few processes need them. */
function openDates() {
  const library = isMac ? "libSystem.B.dylib" : "libc.so.6";
  return dlopen(library, { localtime_r: { args: [ptr, ptr], returns: ptr } }).symbols;
}

let dates: ReturnType<typeof openDates> | undefined;
let linux: ReturnType<typeof openLinux> | undefined;
let mac: ReturnType<typeof openMac> | undefined;
const isMac = process.platform === "darwin";

function onLinux(): ReturnType<typeof openLinux> {
  linux ??= openLinux();
  return linux;
}

function onMac(): ReturnType<typeof openMac> {
  mac ??= openMac();
  return mac;
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`, "utf8");
}

/**
 * Whether a file or folder has an access control list beside its mode: then the mode's bits of the group are the most
 * that any user or group in that list may do. False on macOS, whose lists are not part of the mode.
 */
export function hasAcl(path: string): boolean {
  if (isMac) return false;
  // Opened for this call alone, which is rare: a symbol more among the others would cost every process.
  const libc = dlopen("libc.so.6", { getxattr: { args: [ptr, ptr, ptr, u64], returns: i64 } });
  try {
    return Number(libc.symbols.getxattr(cString(path), cString("system.posix_acl_access"), null, 0)) > 0;
  } finally {
    libc.close();
  }
}

/** What a clock on this machine shows. */
interface LocalTime {
  year: number;
  /** From 1. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  /** Minutes that this clock is ahead of UTC. */
  ahead: number;
}

const EPOCH: LocalTime = { year: 1970, month: 1, day: 1, hour: 0, minute: 0, ahead: 0 };

/**
 * A time as this machine's clocks show it. The engine's own dates take 5 ms of CPU for the first one of a process, for
 * their tables of time zones.
 * @param ms since 1970
 */
export function localTime(ms: number): LocalTime {
  // struct tm (localtime(3)): nine ints, and after a gap the seconds ahead of UTC.
  const fields = new Int32Array(32);
  dates ??= openDates();
  if (dates.localtime_r(new BigInt64Array([BigInt(Math.floor(ms / 1000))]), fields) === null) return EPOCH;
  const [, minute, hour, day, month, year] = fields as unknown as number[];
  return { year: year! + 1900, month: month! + 1, day: day!, hour: hour!, minute: minute!, ahead: fields[10]! / 60 };
}

/** Takes the exclusive `flock` of an open file without waiting; false where another holder has it. */
export function tryLock(fd: number): boolean {
  return (isMac ? onMac() : onLinux()).flock(fd, LOCK_EX | LOCK_NB) === 0;
}

/** The same of a shared `flock`, beside which others may have one; false where another holder has the exclusive one. */
export function tryShare(fd: number): boolean {
  return (isMac ? onMac() : onLinux()).flock(fd, LOCK_SH | LOCK_NB) === 0;
}

/** Gives the lock of an open file back. Closing the descriptor does the same. */
export function unlock(fd: number): void {
  (isMac ? onMac() : onLinux()).flock(fd, LOCK_UN);
}

/** Exchanges two existing paths in one step. False where the file system cannot; nothing has moved then. */
export function exchangePaths(a: string, b: string): boolean {
  if (isMac) return onMac().renamex_np(cString(a), cString(b), RENAME_EXCHANGE) === 0;
  const result = onLinux().syscall(SYS_RENAMEAT2, AT_FDCWD, cString(a), AT_FDCWD, cString(b), RENAME_EXCHANGE);
  return Number(result) === 0;
}

/**
 * On macOS `fsync` stops at the drive's cache; only F_FULLFSYNC reaches the medium. False where the file system has
 * none.
 */
export function fullSync(fd: number): boolean {
  return isMac && onMac().fcntl(fd, F_FULLFSYNC) === 0;
}

/**
 * An empty memory file that may be sealed (Linux), or -1. Where the administrator forbids executable memory files
 * (`vm.memfd_noexec=2`) the second set of flags is accepted: it forbids execve, not mapping.
 */
export function memoryFile(name: string): number {
  const label = cString(name);
  const fd = onLinux().memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return fd >= 0 ? fd : onLinux().memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
}

/**
 * Makes the bytes of a memory file unchangeable for good, and asks the kernel whether they are. The kernel refuses
 * where it finds a page in use, which one may be by itself for a moment, in about one of 40,000 files: it is asked
 * again for a while.
 */
export function sealMemoryFile(fd: number): boolean {
  for (let tries = 1; onLinux().fcntl(fd, F_ADD_SEALS, SEALS) !== 0; tries++) {
    if (tries === SEAL_TRIES) return false;
    Bun.sleepSync(SEAL_PAUSE_MS);
  }
  return (onLinux().fcntl(fd, F_GET_SEALS, 0) & SEALS) === SEALS;
}

/**
 * Keeps the C library's heap small over a long run (Linux; on macOS there is nothing to do): threads share one heap,
 * and large blocks are given back when they are freed. By itself glibc gives each thread a heap of its own and, once a
 * large block was freed, takes the next ones from the heap, and what one thread takes and another gives back leaves
 * holes in both. To be called before the threads are there.
 */
export function keepHeapSmall(): void {
  if (isMac) return;
  onLinux().mallopt(M_ARENA_MAX, 1);
  onLinux().mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

/**
 * Zeroed memory for data of some megabytes that a process keeps. On Linux it asks for huge pages of 2 MiB, and gets small
 * ones if the system has no huge ones. With small pages, reading a file of 7 MB causes 1,800 page faults, which take more
 * than half of the time.
 *
 * @returns an array; with a megabyte or more it begins at a multiple of 64, as native code needs it
 */
export function largeMemory(bytes: number): Uint8Array<ArrayBuffer> {
  const whole = Math.floor(bytes / HUGE_BYTES) * HUGE_BYTES;
  if (isMac || whole === 0) return new Uint8Array(bytes);
  const room = new Uint8Array(bytes + HUGE_BYTES);
  const start = HUGE_BYTES - (pointerTo(room) % HUGE_BYTES);
  const memory = room.subarray(start, start + bytes);
  // The library is opened for this call alone, as in `hasAcl`. The result is ignored: the pages are small then.
  dlopen("libc.so.6", { madvise: { args: [ptr, u64, i32], returns: i32 } }).symbols.madvise(
    memory,
    whole,
    MADV_HUGEPAGE,
  );
  return memory;
}

/**
 * Stops Bun's crash reporter, which uploads by default on macOS (elsewhere there is nothing to do): this program opens
 * no connection that its user did not ask for. The reporter reads C's environment, which `process.env` does not reach.
 */
export function silenceCrashReports(): void {
  if (isMac) onMac().setenv(cString("BUN_ENABLE_CRASH_REPORTING"), cString("0"), 1);
}
