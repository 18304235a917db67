/** A process of LanceDB's. */
import { carryOut } from "./job.ts";
import { lancedb } from "./lancedb.ts";

await carryOut(lancedb);
