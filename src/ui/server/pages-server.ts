/** What the command loads: the pages with their server, which are one file in the executable (`src/build/ui-bundle.ts`). */
export { startUi } from "./server.ts";
