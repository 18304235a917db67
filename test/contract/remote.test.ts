/** The same contract on a store behind a socket: server and client in one process, the bytes on a real socket. */
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { connect } from "../../src/remote/client/client.ts";
import { type ServeOptions, serve } from "../../src/remote/server/server.ts";
import { native, scratchDir } from "../fixture.ts";
import { selfTls } from "../remote/server/tls-server.ts";
import { collectionContract } from "./collection.contract.ts";

/** Starts server and client; closing the client ends both. */
async function served(dir: string, where: Omit<ServeOptions, "store">) {
  const store = new LocalStore(dir, await native(), "0.0.0-test");
  const server = await serve({ store, ...where });
  const client = await connect(server.address, { token: where.accessToken });
  const close = client.close.bind(client);
  client.close = async () => {
    await close();
    await server.stop();
    await store.close();
  };
  return client;
}

collectionContract("remote", (dir) => served(dir, { socketPath: join(scratchDir(), "svc.sock") }));

collectionContract("remote, over TLS", async (dir) =>
  served(dir, { host: "127.0.0.1", port: 0, accessToken: "sesame-2290", tls: await selfTls() }),
);
