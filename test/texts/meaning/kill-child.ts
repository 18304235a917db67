/** A process that fills the collection `notes` of a memory and is killed before one of its native calls: DIR. */
import { NativeCollection } from "../../../ffi/ty_collection.ts";
import { Store } from "../../../src/store/store.ts";
import { SentenceEncoder } from "../../../src/texts/meaning/encoder.ts";
import { fill } from "../../../src/texts/meaning/fill.ts";
import { step } from "../../kill-step.ts";
import { openBuiltNative } from "../../native.ts";

const calls = NativeCollection.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const name of ["encodeMeaning", "begin", "putMeaning", "save"]) {
  const call = calls[name]!;
  calls[name] = function (this: NativeCollection, ...args: unknown[]) {
    step(name);
    return call.apply(this, args);
  };
}
const native = await openBuiltNative();
const store = new Store(process.argv[2]!, native.env, "0.0.0-test");
await fill(store.open("notes"), new SentenceEncoder(native), {}, 4);
await store.close();
