/** A process of this project's engine. */
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { carryOut } from "./job.ts";
import { ours } from "./ours.ts";
import { embedding } from "./ours-embed.ts";
import { rowBytes } from "./ours-rows.ts";

// As the product's processes do.
keepHeapSmall();
await carryOut({ ...ours, embedding, rowBytes });
