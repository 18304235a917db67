/** The secrets that a caller gives a login, and which of them counts. */
import { ValueError } from "../../../errors.ts";
import type { Env } from "../../../paths.ts";
import type { EnrollKeyText } from "../enroll-key.ts";

/** Each undefined where it is not given. An enrolment key stands alone. */
export interface GivenSecrets {
  readonly enrollKey?: EnrollKeyText;
  readonly token?: string;
  readonly apiKey?: string;
}

/**
 * The secrets of flags and environment.
 * @throws ValueError for one that is not usable, and for one of the environment that tool calls would use in place of
 *   what an enrolment gives
 */
export function givenSecrets(given: { env: Env; token?: string; enrollKey?: EnrollKeyText }): GivenSecrets {
  const { env, enrollKey } = given;
  if (enrollKey !== undefined) {
    const replaces = ["SVC_TOKEN", "SVC_API_KEY"].find((name) => env[name]?.trim());
    if (replaces === undefined) return { enrollKey };
    throw new ValueError(`${replaces} is set, and would override the values of the enrolment: unset it`);
  }
  const token = givenSecret(given.token, "--token") ?? givenSecret(env.SVC_TOKEN, "SVC_TOKEN");
  return { token, apiKey: givenSecret(env.SVC_API_KEY, "SVC_API_KEY") };
}

/** Whether there is none, so that a person has to approve the login. */
export function needsApproval({ enrollKey, token, apiKey }: GivenSecrets): boolean {
  return enrollKey === undefined && token === undefined && apiKey === undefined;
}

/**
 * A secret of the caller, or `undefined` if empty. It becomes a header, so it must be printable; the error never quotes
 * it.
 */
function givenSecret(value: string | undefined, name: string): string | undefined {
  const trimmed = value?.trim();
  if (!trimmed) return undefined;
  if (trimmed.length > 8192 || !/^[\x21-\x7e]+$/.test(trimmed)) throw new ValueError(`${name} is not a usable token`);
  return trimmed;
}
