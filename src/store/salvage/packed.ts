/** Packed strings (FORMAT.md): ids and metadata in blocks of sixteen, each as it differs from the one before. */

const LONG = 4096;

/** The strings of a block in order, as many as can be read: the first that is malformed ends it. */
export function unpack(block: Uint8Array, count: number): Uint8Array[] {
  const rows: Uint8Array[] = [];
  let at = 0;
  const leb = () => {
    let value = 0;
    for (let scale = 1; at < block.length && scale < 2 ** 50; scale *= 128) {
      const byte = block[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    return Number.NaN;
  };
  let before = new Uint8Array(0);
  while (rows.length < count) {
    const bytes = leb();
    if (!(bytes >= 0 && bytes <= 2 ** 30)) return rows;
    const row = new Uint8Array(bytes);
    let from = 0;
    for (let done = 0; done < bytes; ) {
      const copied = leb();
      if (!(copied >= 0 && from + copied <= before.length && done + copied <= bytes)) return rows;
      row.set(before.subarray(from, from + copied), done);
      from += copied;
      done += copied;
      if (done === bytes) break;
      if (at >= block.length) return rows;
      const step = block[at++]!;
      const own = (step & 15) === 15 ? 15 + leb() : step & 15;
      const passed = step >> 4 === 15 ? 15 + leb() : step >> 4;
      if (!(own <= bytes - done && own <= block.length - at && passed >= 0)) return rows;
      if (own + passed + copied === 0) return rows;
      row.set(block.subarray(at, at + own), done);
      at += own;
      done += own;
      from += passed;
    }
    rows.push(row);
    before = bytes > LONG ? new Uint8Array(0) : row;
  }
  return rows;
}
