/** A port of loopback that nothing listens on. */
export async function freePort(): Promise<number> {
  const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = free.port ?? 0;
  await free.stop(true);
  return port;
}
