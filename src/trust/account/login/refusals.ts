/** What an authority's answer to a device means: the fields of a good one, and a sentence for every other. */
import { PermissionError, RuntimeError } from "../../../errors.ts";
import { DEVICE_REVOKED, DeviceRevoked } from "../license/revocation.ts";
import { errorField, type HttpAnswer, jsonObject } from "../trusted/http.ts";

/** A sentence for each code of error (RFC 6749 §5.2); the origin is the authority's. */
export type Refusals = Readonly<Record<string, (origin: string) => string>>;

/** Those of every endpoint. */
const REFUSALS: Refusals = {
  device_conflict: () => "the device id is registered with another key: run 'svc logout', then 'svc login'",
  token_bound: () =>
    "the token is another device's: run 'svc login' without it, or with an enrolment key ('svc login --enroll-key -')",
};

/** Those of an enrolment with the key of this id. */
export function enrollKeyRefusals(id: string): Refusals {
  return {
    invalid_enroll_key: (origin) => `the enrolment key ${id} is not known to ${origin}: is it another organisation's?`,
    enroll_key_used: () => `the enrolment key ${id} has been used as often as it may be: ask for another one`,
    enroll_key_revoked: () => `the enrolment key ${id} was revoked: ask for another one`,
    enroll_key_expired: () => `the enrolment key ${id} has expired: ask for another one`,
  };
}

/**
 * The fields of a good answer of the api server at `api`.
 * @param more sentences for codes that only this request is answered with
 * @throws DeviceRevoked; PermissionError where the secret or the device is refused; RuntimeError for every other
 *   answer, "unavailable" where a repetition may succeed
 */
export function accepted(answer: HttpAnswer, api: string, peer: string, more: Refusals = {}): Record<string, unknown> {
  const { status } = answer;
  if (status === 200 || status === 201) return jsonObject(answer, peer);
  const { origin } = new URL(api);
  const code = errorField(answer.body);
  if (status === 403 && code === DEVICE_REVOKED) throw new DeviceRevoked(api);
  const sentences = { ...REFUSALS, ...more };
  const sentence = status < 500 && code !== undefined && Object.hasOwn(sentences, code) ? sentences[code] : undefined;
  const reason = status === 401 ? "unauthorized" : "denied";
  if (sentence !== undefined) throw new PermissionError(sentence(origin), reason);
  if (status === 401) throw new PermissionError("the API key is refused: run 'svc login' again", reason);
  if (status === 403) throw new PermissionError("the authority refuses to license this device", reason);
  if (status === 429 || status === 503) {
    const why =
      code === "too_many_failures"
        ? "too many keys and tokens that are not valid came from this address"
        : "it is busy, or its disk is full; nothing was changed there";
    throw new RuntimeError(`${origin} cannot answer at the moment (${why}): try again later`, "unavailable");
  }
  throw new RuntimeError(`${peer} answered with status ${status}: try again later`);
}
