/** Bytes of a row on disk beside its text: chunks of code as texts of a collection, and as an indexed repository. */
import { join } from "node:path";
import { TestMemory } from "../../fixture.ts";
import type { OwnJob } from "./job.ts";
import { bytesBelow, lexicalBytes } from "./sizes.ts";
import { textsOf } from "./stored.ts";

/** Bytes a row, less its text where that is stored. */
export interface RowBytes {
  rows: number;
  added: number;
  compacted: number;
  repositoryRows: number;
  repository: number;
  /** Of a repository's row: its share of the lexical index. */
  index: number;
}

const NAME = "code";
const REPOSITORY = "repository";
/** Texts of a call. */
const CALL = 1000;

export async function rowBytes(job: OwnJob): Promise<RowBytes> {
  const dir = join(job.dir, "memory");
  const memory = await TestMemory.open(dir);
  let text = 0;
  for (const texts of textsOf(job.chunks, CALL)) {
    await memory.call("add", { collection: NAME, texts });
    text += texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
  }
  const rows: number = (await memory.call("count", { collection: NAME })).count;
  const perRow = () => (bytesBelow(join(dir, NAME)) - text) / rows;
  const added = perRow();
  await memory.call("compact", { collection: NAME });
  const compacted = perRow();
  await memory.call("index_repo", { path: job.code, collection: REPOSITORY });
  const repositoryRows: number = (await memory.call("count", { collection: REPOSITORY })).count;
  const folder = join(dir, REPOSITORY);
  const repository = bytesBelow(folder) / repositoryRows;
  const index = lexicalBytes(folder);
  await memory.close();
  return {
    rows,
    added,
    compacted,
    repositoryRows,
    repository,
    index: index / repositoryRows,
  };
}
