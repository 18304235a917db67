/**
 * Takes zeros out of an executable for Linux. Bun appends the program's modules to the segment of writable data, behind
 * the part of it that has no bytes in the file (`.bss`): that part then lies in the file as 1.8 MB of zeros. Here the
 * modules get a segment of their own, whose header takes the place of the one for notes (nothing reads those of a
 * program; a header that is added would need room that is not there).
 *
 * Names and numbers are those of the ELF-64 object file format (System V ABI, generic part, chapters 4 and 5).
 */

const PT_LOAD = 1;
const PT_NOTE = 4;
const SHT_NOBITS = 8;
const READ_WRITE = 6;
const PROGRAM_HEADER_BYTES = 56;
const SECTION_HEADER_BYTES = 64;

interface Segment {
  type: number;
  flags: number;
  offset: number;
  address: number;
  fileBytes: number;
  memoryBytes: number;
  align: number;
}

interface Section {
  name: string;
  type: number;
  address: number;
  offset: number;
  bytes: number;
}

/**
 * The executable without those zeros; the same bytes where it is laid out in another way.
 * @param file an ELF-64 little-endian executable with Bun's section `.bun`
 */
export function withoutZeros(file: Uint8Array): Uint8Array {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.byteLength < 64 || view.getUint32(0) !== 0x7f454c46 || view.getUint16(4) !== 0x0201) return file;
  const segments = segmentsOf(view);
  const sections = sectionsOf(view, file);
  const modules = sections.find(({ name }) => name === ".bun");
  const zeros = sections.find(({ name, type }) => name === ".bss" && type === SHT_NOBITS);
  const data = segments.find((one) => one.type === PT_LOAD && modules && holds(one, modules));
  const note = segments.findIndex(({ type }) => type === PT_NOTE);
  if (!modules || !zeros || !data || note < 0) return file;
  const end = roundedUp(zeros.offset, data.align);
  const moved = modules.offset - end;
  const isExpected =
    zeros.address + zeros.bytes <= modules.address &&
    sections.every(
      (one) => one === modules || one.type === SHT_NOBITS || !holds(data, one) || ends(one) <= zeros.offset,
    ) &&
    modules.address % data.align === modules.offset % data.align &&
    modules.offset % data.align === 0 &&
    modules.offset + roundedUp(modules.bytes, data.align) >= data.offset + data.fileBytes &&
    segments.every((one) => one.type !== PT_LOAD || one.address <= data.address);
  if (!isExpected || moved <= 0 || file.subarray(zeros.offset, modules.offset).some((byte) => byte !== 0)) return file;

  const result = new Uint8Array(file.byteLength - moved);
  result.set(file.subarray(0, zeros.offset));
  result.set(file.subarray(modules.offset), end);
  const out = new DataView(result.buffer);
  const bytes = data.offset + data.fileBytes - modules.offset;
  const own = { offset: end, address: modules.address, fileBytes: bytes, memoryBytes: bytes };
  segments[note] = { type: PT_LOAD, flags: READ_WRITE, ...own, align: data.align };
  data.fileBytes = zeros.offset - data.offset;
  data.memoryBytes = zeros.address + zeros.bytes - data.address;
  segments.forEach((segment, i) => {
    write(out, number(view, 32) + i * PROGRAM_HEADER_BYTES, segment);
  });
  const sectionTable = number(view, 40) - moved;
  out.setBigUint64(40, BigInt(sectionTable), true);
  sections.forEach(({ offset }, i) => {
    const at = sectionTable + i * SECTION_HEADER_BYTES + 24;
    if (offset >= modules.offset) out.setBigUint64(at, BigInt(offset - moved), true);
  });
  return result;
}

function segmentsOf(view: DataView): Segment[] {
  const start = number(view, 32);
  return Array.from({ length: view.getUint16(56, true) }, (_, i) => {
    const at = start + i * PROGRAM_HEADER_BYTES;
    return {
      type: view.getUint32(at, true),
      flags: view.getUint32(at + 4, true),
      offset: number(view, at + 8),
      address: number(view, at + 16),
      fileBytes: number(view, at + 32),
      memoryBytes: number(view, at + 40),
      align: number(view, at + 48),
    };
  });
}

function sectionsOf(view: DataView, file: Uint8Array): Section[] {
  const start = number(view, 40);
  const names = number(view, start + view.getUint16(62, true) * SECTION_HEADER_BYTES + 24);
  return Array.from({ length: view.getUint16(60, true) }, (_, i) => {
    const at = start + i * SECTION_HEADER_BYTES;
    const name = names + view.getUint32(at, true);
    return {
      name: new TextDecoder().decode(file.subarray(name, file.indexOf(0, name))),
      type: view.getUint32(at + 4, true),
      address: number(view, at + 16),
      offset: number(view, at + 24),
      bytes: number(view, at + 32),
    };
  });
}

function write(view: DataView, at: number, segment: Segment): void {
  view.setUint32(at, segment.type, true);
  view.setUint32(at + 4, segment.flags, true);
  const { offset, address, fileBytes, memoryBytes, align } = segment;
  [offset, address, address, fileBytes, memoryBytes, align].forEach((value, i) => {
    view.setBigUint64(at + 8 + 8 * i, BigInt(value), true);
  });
}

/** Whether a segment's bytes in the file have the section's. */
function holds(segment: Segment, section: Section): boolean {
  return segment.offset <= section.offset && section.offset + section.bytes <= segment.offset + segment.fileBytes;
}

function ends({ offset, bytes }: Section): number {
  return offset + bytes;
}

/** A number of 64 bits; those of a file that fits into memory are exact. */
function number(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}

function roundedUp(value: number, align: number): number {
  return Math.ceil(value / align) * align;
}
