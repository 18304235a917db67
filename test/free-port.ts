/**
 * A port of loopback that nothing listens on. Systems give out no port of this range by themselves: a program that takes
 * any port, or connects, does not get it before the caller listens on it.
 */
export function freePort(): number {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    try {
      Bun.listen({ port, hostname: "127.0.0.1", exclusive: true, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}
