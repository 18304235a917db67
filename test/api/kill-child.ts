/** A process that does one thing to the collection `notes` of a memory, for tests that kill it: VERB DIR [BACKUP]. */
import { LocalStore } from "../../src/api/local-store.ts";
import { openBuiltNative } from "../native.ts";

const [verb, dir = "", backup = ""] = process.argv.slice(2);
const store = new LocalStore(dir, await openBuiltNative(), "0.0.0-test");
if (verb === "drop") await store.dropCollection("notes");
if (verb === "rename") await store.renameCollection("notes", "renamed");
if (verb === "alter") await store.alterCollection("notes", { lexical: true, addColumns: ["lang"] });
if (verb === "restore") await store.restore(backup, { replace: true });
await store.close();
