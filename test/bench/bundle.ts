/** Scripts for Node.js out of this project's TypeScript. */
import { join } from "node:path";

/** Bundles a script into `folder`; returns the file that Node.js runs. */
export async function bundledForNode(script: string, folder: string): Promise<string> {
  const built = await Bun.build({
    entrypoints: [script],
    target: "node",
    external: ["bun:sqlite"],
    naming: "peer.mjs",
    outdir: folder,
  });
  if (!built.success) throw new AggregateError(built.logs, "the peers' script could not be bundled");
  return join(folder, "peer.mjs");
}
