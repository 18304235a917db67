/** Loads the pages and their server, and gives them what they need of the rest of svc. */
import { UI_HOST } from "../../build-info.ts";

/** In the executable a file, without the modules of `host`: see `src/build/ui-bundle.ts`. */
export async function loadUi(host: object): Promise<typeof import("./pages-server.ts")> {
  const place = globalThis as { [UI_HOST]?: object };
  place[UI_HOST] = host;
  try {
    return await import("./pages-server.ts");
  } finally {
    delete place[UI_HOST];
  }
}
