/** What an organisation's authority answers and a local one does not. */

import type { Routes } from "../context.ts";
import { ADMIN_API_ROUTES } from "./admin-api.ts";
import { ADMIN_ROUTES } from "./admin-routes.ts";
import { ENROLLMENT_ROUTES } from "./enrollment.ts";
import { HEALTH_ROUTES } from "./health.ts";
import { METADATA_ROUTES } from "./metadata.ts";

/** For browsers, and what anyone may ask. */
export const ORGANISATION_PAGES: readonly Routes[] = [METADATA_ROUTES, HEALTH_ROUTES, ADMIN_ROUTES];

/** For devices and programs. A request that a web page sends is refused before any of these. */
export const ORGANISATION_ENDPOINTS: readonly Routes[] = [ENROLLMENT_ROUTES, ADMIN_API_ROUTES];
