/** `/health`: what `svc doctor` finds. */
import { healthPage } from "../pages/health.ts";
import { html, locally, type Routes } from "./call.ts";

export const HEALTH_ROUTES: Routes = {
  "GET /health": locally(async (site, { request }, local) =>
    html(healthPage(site, await local.health(request.signal))),
  ),
};
