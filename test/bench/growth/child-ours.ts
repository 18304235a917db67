/** A process of this project's store. */
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { carryOut } from "../text/job.ts";
import { ours } from "./ours.ts";

// As the product's processes do.
keepHeapSmall();
await carryOut(ours);
