/** The process of this project's engine. */
import { ours } from "./ours.ts";
import { serve } from "./serve.ts";

await serve({ svc: ours });
