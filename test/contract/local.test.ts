/** The contract on a store of this process. */
import { LocalStore } from "../../src/api/local-store.ts";
import { native } from "../fixture.ts";
import { collectionContract } from "./collection.contract.ts";

collectionContract("local", async (dir) => new LocalStore(dir, await native(), "0.0.0-test"));
