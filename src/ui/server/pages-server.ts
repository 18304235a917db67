/** What the command loads: the pages with their server. They are late modules (`src/build/late.ts`). */
export { startUi } from "./server.ts";
