/**
 * System calls about sockets: whether bytes lie unread, the address of a socket that is inherited, and a program in
 * place of the running one, which keeps its number and an open socket. As in calls.ts no function reports `errno`.
 */
import { dlopen, FFIType, ptr as pointerTo } from "bun:ffi";

const { i32, i64, u64, ptr } = FFIType;
const isMac = process.platform === "darwin";
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = isMac ? 30 : 10;
const MSG_PEEK = 2;
const MSG_DONTWAIT = isMac ? 0x80 : 0x40;

/** What a socket is bound to. */
export type SocketName =
  | { readonly kind: "unix" }
  | { readonly kind: "tcp"; readonly isV6: boolean; readonly port: number };

function open() {
  return dlopen(isMac ? "libSystem.B.dylib" : "libc.so.6", {
    recv: { args: [i32, ptr, u64, i32], returns: i64 },
    getsockname: { args: [i32, ptr, ptr], returns: i32 },
    dup: { args: [i32], returns: i32 },
    dup2: { args: [i32, i32], returns: i32 },
    close: { args: [i32], returns: i32 },
    execve: { args: [ptr, ptr, ptr], returns: i32 },
  }).symbols;
}

let symbols: ReturnType<typeof open> | undefined;

function libc(): ReturnType<typeof open> {
  symbols ??= open();
  return symbols;
}

/** Whether a socket has bytes that the process has not read. */
export function hasUnread(fd: number): boolean {
  return libc().recv(fd, Buffer.alloc(1), 1, MSG_PEEK | MSG_DONTWAIT) > 0n;
}

/** What an open descriptor is bound to; undefined where it is not a socket of these kinds. */
export function socketName(fd: number): SocketName | undefined {
  const name = Buffer.alloc(128);
  const length = new Int32Array([name.length]);
  if (libc().getsockname(fd, name, length) !== 0) return undefined;
  const family = isMac ? name[1] : name.readUInt16LE(0);
  if (family === AF_UNIX) return { kind: "unix" };
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  return { kind: "tcp", isV6: family === AF_INET6, port: name.readUInt16BE(2) };
}

/** A second descriptor of an open file, which programs that are started inherit. @returns below 0 where there is none to be had */
export function duplicate(fd: number): number {
  return libc().dup(fd);
}

/**
 * Replaces this process by a program, which has `fd` as `target`. Returns only where that is not possible.
 * @param argv the program's words, its own name first
 */
export function replaceProcess(
  program: string,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  fd: number,
  target: number,
): void {
  const words = listOf(argv);
  const variables = listOf(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])),
  );
  if (fd !== target) {
    if (libc().dup2(fd, target) !== target) return;
    libc().close(fd);
  }
  libc().execve(cString(program), words.pointers, variables.pointers);
}

/** Texts as a list of pointers that ends with a null. The texts must be referred to as long as the list is used. */
function listOf(texts: readonly string[]) {
  const bytes = texts.map(cString);
  return { bytes, pointers: new BigUint64Array([...bytes.map((each) => BigInt(pointerTo(each))), 0n]) };
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`, "utf8");
}
