/** Processes of `svc serve --json`, which end with the tests of a file. */
import { afterAll } from "bun:test";
import type { Home } from "./home.ts";

/** A server that listens, where, and what it has logged. */
export interface Served {
  server: Bun.Subprocess;
  address: string;
  log: { text: string };
}

/** Starts servers; each resolves once it listens. `fd` is its descriptor 3. */
export function servers(): (command: string[], env: Home, fd?: number) => Promise<Served> {
  const running: Bun.Subprocess[] = [];
  afterAll(async () => {
    for (const server of running) {
      server.kill("SIGKILL");
      await server.exited;
    }
  });
  return async (command, env, fd) => {
    const server = Bun.spawn(command, {
      env,
      stdio: ["ignore", "pipe", "pipe", ...(fd === undefined ? [] : [fd])],
    }) as Bun.ReadableSubprocess;
    running.push(server);
    const log = { text: "" };
    const reading = (async () => {
      for await (const chunk of server.stderr) log.text += new TextDecoder().decode(chunk);
    })();
    const { value } = await server.stdout.getReader().read();
    if (!value) throw new Error(await reading.then(() => log.text));
    const { address } = JSON.parse(new TextDecoder().decode(value)) as { address: string };
    return { server, address, log };
  };
}
