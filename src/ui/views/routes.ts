/** Every address and its handler. */
import type { Routes } from "./call.ts";
import { CREATE_ROUTES } from "./create.ts";
import { DUPLICATES_ROUTES } from "./duplicates.ts";
import { EDITING_ROUTES } from "./editing.ts";
import { EXPORT_ROUTES } from "./export.ts";
import { FILES_ROUTES } from "./files.ts";
import { HEALTH_ROUTES } from "./health.ts";
import { HISTORY_ROUTES } from "./history.ts";
import { OVERVIEW_ROUTES } from "./overview.ts";
import { REPOSITORIES_ROUTES } from "./repositories.ts";
import { ROW_ROUTES } from "./row.ts";
import { ROWS_ROUTES } from "./rows.ts";
import { SETTINGS_ROUTES } from "./settings.ts";

export const ROUTES: Routes = {
  ...OVERVIEW_ROUTES,
  ...ROWS_ROUTES,
  ...ROW_ROUTES,
  ...EDITING_ROUTES,
  ...HISTORY_ROUTES,
  ...DUPLICATES_ROUTES,
  ...CREATE_ROUTES,
  ...SETTINGS_ROUTES,
  ...EXPORT_ROUTES,
  ...FILES_ROUTES,
  ...REPOSITORIES_ROUTES,
  ...HEALTH_ROUTES,
};
