/** Texts put into a memory as the tools put them: through its verb, by a process that compacts in the background. */
import { join } from "node:path";
import { TestMemory } from "../../fixture.ts";
import { usage } from "../cost.ts";
import { COMMIT } from "../text/fts5.ts";
import type { Works } from "../text/job.ts";
import { scopesOf } from "../text/scopes.ts";
import { bytesBelow } from "../text/sizes.ts";
import { textsOf } from "../text/stored.ts";
import type { Imported } from "./figures.ts";

const NAME = "bench";

export const ours: Works = {
  async import(job): Promise<Imported> {
    const memory = await TestMemory.open(job.dir, undefined, true, { background: true });
    let row = 0;
    const used = await usage(async (look) => {
      for (const texts of textsOf(job.passages, COMMIT)) {
        const ids = texts.map((_, i) => `note-${row + i}`);
        await memory.call("add", { collection: NAME, ids, texts, metadata: scopesOf(row, texts.length) });
        row += texts.length;
        look();
      }
    });
    const compaction = await usage(() => memory.call("compact", { collection: NAME }));
    const disk = bytesBelow(join(job.dir, NAME));
    await memory.close();
    return { used, compaction, disk };
  },
};
