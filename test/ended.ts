/** How a process ended, and its output. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Waits for a process whose stdout and stderr are pipes. */
export async function ended(child: Bun.ReadableSubprocess): Promise<Ended> {
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}
