/** A process of SQLite's. */
import { fts5 } from "./fts5.ts";
import { carryOut } from "./job.ts";

await carryOut(fts5);
