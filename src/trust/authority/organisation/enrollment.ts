/** Enrolment with a key: one request, one transaction, and no person. */
import { enrollKeyId } from "../../account/enroll-key.ts";
import { newApiKey } from "../api.ts";
import { issueToken, NO_CACHE } from "../authorization.ts";
import {
  type Authority,
  answerError,
  answerJson,
  answerUnauthorized,
  bearerOf,
  type Call,
  jsonOf,
  type Routes,
} from "../context.ts";
import { type DeviceDescription, describedDevice, type ProvenDevice, provenFor } from "../device-requests.ts";
import type { EnrollKey } from "../ledger/enroll-keys.ts";
import { type RecordedLicense, recordLicense, signRecorded } from "../licensing.ts";

/**
 * How long an enrolment is answered again, to the same device with the same key: the answer may have been lost, and a
 * one-off key with it. Only a device that proves its key is answered, and it gets no more than it has.
 */
const AGAIN_MS = 600_000;

type Candidate = ProvenDevice & DeviceDescription;

/** What an enrolment gives, less the licence's signature. */
interface Enrollment {
  readonly account: string;
  readonly token: ReturnType<typeof issueToken>;
  readonly apiKey: string;
  readonly license: RecordedLicense;
}

/**
 * POST /v1/svc/enroll with an enrolment key and the proof of the device's key: token, API key and licence. The use of the
 * key and all that comes of it are one transaction.
 */
async function enroll(authority: Authority, call: Call): Promise<Response> {
  const secret = bearerOf(call.request);
  const id = secret === undefined ? undefined : enrollKeyId(secret);
  if (secret === undefined || id === undefined) return answerUnauthorized("invalid_enroll_key", secret);
  const body = await jsonOf(call.request);
  const description = describedDevice(body);
  if (description === undefined) return answerError(400, "invalid_request");
  const proven = provenFor(body, "enroll", secret);
  if (proven instanceof Response) return proven;
  call.fields.device = proven.deviceId;
  const candidate = { ...proven, ...description };
  const enrolled = await authority.ledger.commit(() => admit(authority, call, secret, candidate));
  if (enrolled instanceof Response) return enrolled;
  const { account, token, apiKey, license } = enrolled;
  const jwt = await signRecorded(authority, license);
  return answerJson(200, { ...token, api_key: apiKey, account, license: jwt }, NO_CACHE);
}

export const ENROLLMENT_ROUTES: Routes = { "POST /v1/svc/enroll": enroll };

/** In the transaction of the caller; where it answers, nothing was changed. */
function admit(authority: Authority, call: Call, secret: string, device: Candidate): Enrollment | Response {
  const { ledger } = authority;
  const now = authority.now();
  const { kind, key } = ledger.enrollKeys.find(secret, now);
  if (key === undefined) return answerUnauthorized("invalid_enroll_key", secret);
  call.fields.enroll_key = key.id;
  const isAgain = kind !== "revoked" && hasEnrolled(authority, key, device, now);
  if (kind !== "ok" && !isAgain) return answerError(403, `enroll_key_${kind}`);
  const { id: enrolledBy, tags, account } = key;
  const registration = ledger.devices.register({ ...device, account, tags, enrolledBy }, now);
  if (registration === "conflict") return answerError(409, "device_conflict");
  if (registration === "revoked") return answerError(403, "device_revoked");
  // Where no person logs in by code, no other request makes or removes tokens.
  ledger.purge(now);
  const { deviceId, thumbprint, name, platform } = device;
  if (!isAgain) {
    const { key: used = key } = ledger.enrollKeys.use(secret, now);
    const by = { actor: enrolledBy, device: deviceId, address: call.address };
    authority.audit("enroll_key_used", { ...by, detail: { uses: used.uses, uses_max: used.usesMax } });
    const known = registration === "known";
    authority.audit("device_enrolled", { ...by, detail: { account, name, platform, tags: tags.join(" "), known } });
  }
  const token = issueToken(authority, { account, thumbprint, deviceId }, now);
  const apiKey = newApiKey();
  ledger.access.setApiKey(apiKey, account, deviceId, now);
  return { account, token, apiKey, license: recordLicense(authority, call, { ...device, account }, now) };
}

/** Whether this device was enrolled with this key a moment ago. */
function hasEnrolled({ ledger }: Authority, key: EnrollKey, device: Candidate, now: number): boolean {
  const known = ledger.devices.get(device.deviceId);
  if (known?.enrolledBy !== key.id || known.thumbprint !== device.thumbprint) return false;
  return known.licensedAt !== null && Math.abs(now - known.licensedAt) < AGAIN_MS;
}
