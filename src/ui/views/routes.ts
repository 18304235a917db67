/** Every address and its handler. */
import type { Routes } from "./call.ts";
import { DUPLICATES_ROUTES } from "./duplicates.ts";
import { EDITING_ROUTES } from "./editing.ts";
import { HISTORY_ROUTES } from "./history.ts";
import { OVERVIEW_ROUTES } from "./overview.ts";
import { ROW_ROUTES } from "./row.ts";
import { ROWS_ROUTES } from "./rows.ts";

export const ROUTES: Routes = {
  ...OVERVIEW_ROUTES,
  ...ROWS_ROUTES,
  ...ROW_ROUTES,
  ...EDITING_ROUTES,
  ...HISTORY_ROUTES,
  ...DUPLICATES_ROUTES,
};
