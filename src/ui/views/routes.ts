/** Every address and its handler. */
import type { Routes } from "./call.ts";
import { OVERVIEW_ROUTES } from "./overview.ts";

export const ROUTES: Routes = { ...OVERVIEW_ROUTES };
