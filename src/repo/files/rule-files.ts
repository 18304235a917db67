/**
 * Reads the ignore files of a root's directories. A repository is untrusted: a file of a megabyte in each of a thousand
 * folders would fill the memory with patterns, so that all of them together are bounded.
 */
import { IGNORE_FILE_BYTES_MAX } from "./git/repository.ts";
import { readBinary } from "./git/text.ts";

/** All ignore files together; those of the Linux kernel have 30 KB. What is beyond is not read. */
const ALL_BYTES_MAX = 4 * 1024 * 1024;

/** What was read of a file. */
export interface RuleText {
  /** A binary string; undefined where there is no file, or it is too large. */
  text?: string | undefined;
  /** A hash of the text, to see whether it changed; 0 for none. */
  hash: bigint | number;
  /** Bytes of the text. */
  size: number;
}

export class RuleFiles {
  private left = ALL_BYTES_MAX;

  constructor(private readonly root: string) {}

  /** Reads a file, whose patterns will be kept until {@link release}. */
  read(directory: string, name: string): RuleText {
    const found = this.peek(directory, name);
    if (found.size > this.left) return { hash: found.hash, size: 0 };
    this.left -= found.size;
    return found;
  }

  /** Reads a file whose patterns will not be kept. */
  peek(directory: string, name: string): RuleText {
    // Not `path.join`, which costs as much as to find that there is no such file.
    const folder = directory === "" ? this.root : `${this.root}/${directory}`;
    const text = readBinary(`${folder}/${name}`, IGNORE_FILE_BYTES_MAX, true);
    return text === undefined ? { hash: 0, size: 0 } : { text, hash: Bun.hash(text), size: text.length };
  }

  /** Says that patterns of texts of so many bytes are no longer kept. */
  release(bytes: number): void {
    this.left += bytes;
  }
}
