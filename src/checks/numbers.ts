/** Numbers that callers give. */
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { kindOf } from "./kinds.ts";

/** The recall that was asked for, if any. @throws TypeError for what is no number; ValueError outside (0, 1] */
export function recallOf({ targetRecall }: { targetRecall?: number | undefined }): number | undefined {
  const asked: unknown = targetRecall ?? undefined;
  if (asked === undefined) return undefined;
  if (typeof asked !== "number") throw new ArgumentTypeError(`targetRecall must be a number, got ${kindOf(asked)}`);
  if (!(asked > 0 && asked <= 1)) throw new ValueError(`targetRecall is ${asked}; it is above 0 and at most 1`);
  return asked;
}
