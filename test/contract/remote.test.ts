/** The same contract on a store behind a socket: server and client in one process, the bytes on a real socket. */
import { join } from "node:path";
import { LocalStore } from "../../src/engine/local-store.ts";
import { connect } from "../../src/remote/client/client.ts";
import { serve } from "../../src/remote/server/server.ts";
import { native, scratchDir } from "../fixture.ts";
import { collectionContract } from "./collection.contract.ts";

collectionContract("remote", async (dir) => {
  const store = new LocalStore(dir, await native(), "0.0.0-test");
  const server = await serve({ store, socketPath: join(scratchDir(), "svc.sock") });
  const client = await connect(server.address);
  const close = client.close.bind(client);
  client.close = async () => {
    await close();
    await server.stop();
    await store.close();
  };
  return client;
});
