/**
 * Archives that are the same bytes for the same files: no times, users or paths of the machine.
 *
 * Libraries that write zip files compress in JavaScript, to 2.5 MB more for an executable and over 20 s of a core. Here an
 * entry takes over the bytes of a gzip file, so that the executable is compressed once for both.
 */

/** gzip takes half a minute of one core for an executable. With level 9 the file is 2 % larger. */
export const GZIP_BEST = 12;

/** A file of an archive. */
export interface ArchiveFile {
  /** Its path, with slashes; ASCII, at most 99 bytes. */
  name: string;
  bytes: Uint8Array;
  isExecutable?: boolean;
}

/** A file of a zip archive that is compressed already. */
export interface GzippedFile extends Omit<ArchiveFile, "bytes"> {
  /** What `gzipped` returned for it. */
  gzip: Uint8Array;
}

/** A gzip file without name and time. @param level 0 to 12 */
export function gzipped(bytes: Uint8Array, level: number = GZIP_BEST): Uint8Array {
  // libdeflate has levels up to 12; the type knows those of zlib only.
  return Bun.gzipSync(bytes as Uint8Array<ArrayBuffer>, { library: "libdeflate", level: level as 9 });
}

/** RFC 1952: a header of ten bytes, the compressed bytes, their CRC-32 and length before compression. */
const GZIP_HEAD = 10;
const GZIP_TAIL = 8;
/** The first day that a zip entry can have: 1 January 1980. */
const FIRST_DAY = 0x21;
/** Version 2.0 of the format, with the attributes of Unix. */
const [ZIP_VERSION, ZIP_UNIX] = [20, 3 << 8];
const ZIP_DEFLATED = 8;

/** A zip archive (APPNOTE.TXT of PKWARE) of at most 4 GB. */
export function zipOf(files: readonly (ArchiveFile | GzippedFile)[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const file of files) {
    const gzip = "gzip" in file ? file.gzip : gzipped(file.bytes);
    const data = gzip.subarray(GZIP_HEAD, -GZIP_TAIL);
    const tail = Buffer.from(gzip.buffer, gzip.byteOffset + gzip.length - GZIP_TAIL, GZIP_TAIL);
    const sizes = [...u32(tail.readUInt32LE(0)), ...u32(data.length), ...u32(tail.readUInt32LE(4))];
    const name = Buffer.from(file.name, "ascii");
    // Both headers have this in common, from the version to the length of the extra field.
    const common = [ZIP_VERSION, 0, ZIP_DEFLATED, 0, FIRST_DAY].flatMap(u16);
    const described = [...common, ...sizes, ...u16(name.length), ...u16(0)];
    const header = Buffer.from([...u32(0x04034b50), ...described]);
    parts.push(header, name, data);
    const attributes = [...u16(0), ...u16(0), ...u16(0), ...u32((0o100000 | modeOf(file)) * 0x10000)];
    const made = [...u32(0x02014b50), ...u16(ZIP_VERSION | ZIP_UNIX)];
    directory.push(Buffer.from([...made, ...described, ...attributes, ...u32(offset)]), name);
    offset += header.length + name.length + data.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  const count = u16(files.length);
  const end = [...u32(0x06054b50), ...u16(0), ...u16(0), ...count, ...count, ...u32(length), ...u32(offset), ...u16(0)];
  return Buffer.concat([...parts, ...directory, Buffer.from(end)]);
}

/** Seconds since 1970 of all files in a tar archive: the day that npm uses, as 0 is a missing time to some programs. */
const TAR_TIME = Date.UTC(1985, 9, 26, 8, 15) / 1000;
const TAR_BLOCK = 512;

/** A tar archive in the format ustar, of POSIX. */
export function tarOf(files: readonly ArchiveFile[]): Uint8Array {
  const parts = files.flatMap((file) => {
    const header = Buffer.alloc(TAR_BLOCK);
    const put = (at: number, text: string) => header.write(text, at, "ascii");
    const octal = (at: number, value: number, digits: number) => put(at, value.toString(8).padStart(digits, "0"));
    if (file.name.length >= 100) throw new RangeError(`${file.name} is too long for a tar archive`);
    put(0, file.name);
    octal(100, modeOf(file), 7);
    octal(108, 0, 7);
    octal(116, 0, 7);
    octal(124, file.bytes.length, 11);
    octal(136, TAR_TIME, 11);
    put(148, " ".repeat(8));
    put(156, "0");
    put(257, "ustar\0" + "00");
    octal(
      148,
      header.reduce((sum, byte) => sum + byte, 0),
      6,
    );
    put(154, "\0 ");
    return [header, file.bytes, Buffer.alloc(-file.bytes.length & (TAR_BLOCK - 1))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * TAR_BLOCK)]);
}

function modeOf({ isExecutable }: { isExecutable?: boolean }): number {
  return isExecutable ? 0o755 : 0o644;
}

function u16(value: number): number[] {
  return [value & 0xff, value >>> 8];
}

function u32(value: number): number[] {
  return [...u16(value & 0xffff), ...u16(Math.floor(value / 0x10000))];
}
