/**
 * A bundle is untrusted input until its signature is verified, so the reader is small and refuses what it does not
 * need: plain ustar (POSIX.1-1988 section 10.1.1) with regular files only, no links, extensions or prefix, valid
 * checksums; the manifest first, its signature second, then exactly the files that the manifest lists, in any order.
 *
 * It is read as a stream: until the signature is verified at most the two head entries are unpacked, so that a small
 * file which unpacks to a terabyte costs nothing. A general tar library has features that an attacker could use.
 */
import { createGunzip } from "node:zlib";
import { RuntimeError } from "../../errors.ts";
import { BUNDLE_BYTES_MAX, RUNTIME_MANIFEST_BYTES_MAX, RUNTIME_SIGNATURE_BYTES_MAX } from "../../limits.ts";
import type { RuntimeManifest } from "./bundle-manifest.ts";
import { type VerifiedArtifact, verifyArtifact } from "./signed.ts";

/** The first two entries, in this order. */
export const MANIFEST_NAME = "telys_manifest.json";
export const SIGNATURE_NAME = "telys_manifest.sig";

const BLOCK = 512;
/** tar pads its output to 20 blocks; more zeros at the end are not padding. */
const PADDING_MAX = 20 * BLOCK;

/** The bytes of one file of the bundle. */
export interface BundleEntry {
  name: string;
  bytes: Uint8Array;
}

/** Reads a bundle from start to end. Use: `head`, verify the signature, parse the manifest, then `artifacts`. */
export class BundleReader {
  readonly #source: ByteSource;

  /** @throws RuntimeError beyond 1 GiB, or where it is not a gzip file */
  constructor(bundle: Uint8Array) {
    if (bundle.length > BUNDLE_BYTES_MAX) throw broken(`it has more than ${BUNDLE_BYTES_MAX} bytes`);
    if (bundle[0] !== 0x1f || bundle[1] !== 0x8b) throw broken("it is not a gzip file");
    this.#source = new ByteSource(bundle);
  }

  /** The manifest and its signature, both unverified. @throws RuntimeError */
  async head(): Promise<{ manifest: Uint8Array; signature: Uint8Array }> {
    const manifest = await this.#entry((name) => (name === MANIFEST_NAME ? RUNTIME_MANIFEST_BYTES_MAX : undefined));
    const signature = await this.#entry((name) => (name === SIGNATURE_NAME ? RUNTIME_SIGNATURE_BYTES_MAX : undefined));
    if (!manifest || !signature) throw broken(`it does not begin with ${MANIFEST_NAME} and ${SIGNATURE_NAME}`);
    return { manifest: manifest.bytes, signature: signature.bytes };
  }

  /**
   * Each artifact, its size and hash verified.
   * @throws RuntimeError at the first that differs, is missing, occurs twice, or is not listed
   */
  async *artifacts(manifest: RuntimeManifest): AsyncGenerator<VerifiedArtifact> {
    const expected = new Map(manifest.artifacts.map((artifact) => [artifact.name, artifact]));
    for (;;) {
      const entry = await this.#entry((name) => expected.get(name)?.size_bytes);
      if (!entry) break;
      const artifact = expected.get(entry.name)!;
      expected.delete(entry.name);
      const found = verifyArtifact(artifact, entry.bytes);
      if (!found) throw broken(`${artifact.name} is not what the manifest says`);
      yield found;
    }
    const missing = expected.keys().next().value;
    if (missing !== undefined) throw broken(`${missing} is missing`);
    await this.#source.expectEnd();
  }

  /** Frees the decompressor. */
  close(): void {
    this.#source.close();
  }

  async #entry(sizeMax: (name: string) => number | undefined): Promise<BundleEntry | undefined> {
    const header = await this.#source.take(BLOCK);
    if (isZero(header)) {
      if (!isZero(await this.#source.take(BLOCK))) throw broken("it ends in the middle");
      return undefined;
    }
    const { name, size } = parseHeader(header);
    const max = sizeMax(name);
    if (max === undefined) throw broken("it holds a file that the manifest does not name, or in the wrong place");
    if (size > max) throw broken(`${name} is larger than allowed`);
    const bytes = await this.#source.take(size);
    if (!isZero(await this.#source.take(-size & (BLOCK - 1)))) throw broken(`${name} is followed by stray bytes`);
    return { name, bytes };
  }
}

/** Writes a bundle. The same entries give the same bytes: no times, no owners, modes fixed. */
export function packBundle(entries: BundleEntry[]): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const { name, bytes } of entries) {
    blocks.push(formatHeader(name, bytes.length), bytes, new Uint8Array(-bytes.length & (BLOCK - 1)));
  }
  blocks.push(new Uint8Array(2 * BLOCK));
  // One per cent smaller than by zlib. The header (RFC 1952 section 2.3) gets neither a time nor an operating system, so that
  // the same entries always give the same bytes.
  return Bun.gzipSync(Buffer.concat(blocks), { library: "libdeflate", level: 12 });
}

// ustar: name 0–99, mode, uid, gid, size 124–135, mtime, checksum 148–155, type 156, link name, magic 257, …, prefix
// 345.

function parseHeader(header: Uint8Array): { name: string; size: number } {
  const field = (start: number, end: number) => String.fromCharCode(...header.subarray(start, end));
  if (field(257, 265) !== "ustar\x0000") throw broken("it is not a ustar archive");
  const checksum = /^([0-7]{6})\0 $/.exec(field(148, 156))?.[1];
  if (checksum === undefined || Number.parseInt(checksum, 8) !== headerSum(header)) throw broken("a header is damaged");
  if (header[156] !== 0x30) throw broken("it holds something that is not a regular file");
  if (!isZero(header.subarray(157, 257)) || !isZero(header.subarray(345)))
    throw broken("it holds a link or a long name");
  const size = /^([0-7]{11})[\0 ]$/.exec(field(124, 136))?.[1];
  const name = /^([A-Za-z0-9_][A-Za-z0-9_./-]*)\0+$/.exec(field(0, 100))?.[1];
  if (size === undefined || name === undefined) throw broken("a header is malformed");
  return { name, size: Number.parseInt(size, 8) };
}

function formatHeader(name: string, size: number): Uint8Array {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_./-]{0,98}$/.test(name)) throw broken(`'${name}' cannot be an entry's name`);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, "latin1");
  header.write("0000644\0" + "0000000\0" + "0000000\0", 100, "latin1");
  header.write(size.toString(8).padStart(11, "0") + "\0" + "00000000000\0", 124, "latin1");
  header.write("0", 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  header.write(headerSum(header).toString(8).padStart(6, "0") + "\0 ", 148, "latin1");
  return header;
}

/** The sum of a header's bytes with the checksum field taken as spaces. */
function headerSum(header: Uint8Array): number {
  let sum = 8 * 0x20;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += header[i]!;
  return sum;
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** The unpacked bytes, decompressed on demand. */
class ByteSource {
  readonly #gunzip = createGunzip({ chunkSize: 64 * 1024 });
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(bundle: Uint8Array) {
    this.#chunks = this.#gunzip[Symbol.asyncIterator]();
    this.#gunzip.end(bundle);
  }

  /** Exactly `count` bytes. Memory grows with the bytes received, not with the number announced. */
  async take(count: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let missing = count; missing > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) throw broken("it is cut short");
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  /** The end of the archive: zeros up to tar's own padding, then nothing. */
  async expectEnd(): Promise<void> {
    let padding = 0;
    do {
      padding += this.#rest.length;
      if (padding > PADDING_MAX || !isZero(this.#rest)) throw broken("something follows its end");
    } while (await this.#more());
  }

  close(): void {
    this.#gunzip.destroy();
  }

  async #more(): Promise<boolean> {
    try {
      const next = await this.#chunks.next();
      this.#rest = next.done ? new Uint8Array(0) : next.value;
      return !next.done;
    } catch {
      throw broken("it is damaged or cut short");
    }
  }
}

function broken(what: string): RuntimeError {
  return new RuntimeError(`the runtime bundle cannot be used: ${what}`);
}
