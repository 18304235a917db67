/** Numbers of things, and sizes, as a person reads them. */

/** "1 row", "12,345 rows". */
export function counted(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** "512 bytes", "87 KB", "1.2 MB", "3.4 GB". */
export function sized(bytes: number): string {
  if (bytes < 1e3) return counted(bytes, "byte");
  if (bytes <= 999_000) return `${Math.ceil(bytes / 1e3)} KB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
