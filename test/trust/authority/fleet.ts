/**
 * Devices that talk to an authority over HTTP without any code of svc, so that hundreds of them cost one process: keys by
 * WebCrypto, requests by fetch. One request is one measured time.
 */
import { approve, Browser } from "./visitor.ts";

const encoder = new TextEncoder();
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** Where the authority is, what its certificate is signed by, and what a proxy in front would add. */
export interface Where {
  url: string;
  ca?: string;
  headers?: Record<string, string>;
}

/** An answer, and the milliseconds from the request's first byte to its last one. */
export interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is JSON, and a test reads what it expects of it
  body: any;
  ms: number;
}

/** A machine: its id and its key. */
export class FleetDevice {
  private constructor(
    readonly id: string,
    /** The raw public key, base64url. */
    readonly publicKey: string,
    readonly thumbprint: string,
    readonly privateKey: CryptoKey,
  ) {}

  static async make(): Promise<FleetDevice> {
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    const id = crypto.randomUUID().replaceAll("-", "");
    const publicKey = base64url(raw);
    return new FleetDevice(id, publicKey, `ed25519:${await sha256(raw)}`, pair.privateKey);
  }

  /** Ed25519 over the text's bytes, base64url. */
  async sign(text: string): Promise<string> {
    return base64url(new Uint8Array(await crypto.subtle.sign("Ed25519", this.privateKey, encoder.encode(text))));
  }

  /** What every request about this device says of it. */
  describe(): Record<string, string> {
    const hostHash = `sha256:${Buffer.from(this.id.repeat(2)).toString("hex").slice(0, 64)}`;
    return {
      device_id: this.id,
      key_thumbprint: this.thumbprint,
      public_key: this.publicKey,
      platform: "linux-x86_64",
      host_hash: hostHash,
    };
  }
}

/** Enrols by an enrolment key: one request. */
export async function enroll(where: Where, key: string, device: FleetDevice, name?: string): Promise<Answered> {
  const signature = await device.sign(`svc-enroll:v1:${device.id}:${await sha256(encoder.encode(key))}`);
  const body = { ...device.describe(), ...(name === undefined ? {} : { name }), signature };
  return send(where, "/v1/svc/enroll", { bearer: key, json: body });
}

/** Exchanges a token for an API key: one request. */
export async function onboard(where: Where, token: string, device: FleetDevice): Promise<Answered> {
  const signature = await device.sign(`svc-onboard:v1:${device.id}:${await sha256(encoder.encode(token))}`);
  const { device_id, key_thumbprint, public_key } = device.describe();
  const json = { device_id, key_thumbprint, public_key, signature };
  return send(where, "/v1/svc/onboard", { bearer: token, json });
}

/** Asks for a licence with an API key, as registrations and renewals do: two requests. @returns both answers */
export async function license(where: Where, apiKey: string, device: FleetDevice): Promise<Answered[]> {
  const { device_id, key_thumbprint } = device.describe();
  const nonce = await send(where, "/v1/device/nonce", { bearer: apiKey, json: { device_id, key_thumbprint } });
  if (nonce.status !== 200) return [nonce];
  const signature = await device.sign(nonce.body.nonce);
  const json = { ...device.describe(), nonce: nonce.body.nonce, signature };
  return [nonce, await send(where, "/v1/device/register", { bearer: apiKey, json })];
}

/** What a device has after a login. */
export interface LoggedIn {
  token: string;
  apiKey: string;
  license: string;
}

/**
 * The whole login of a device by the device flow: code, a person who approves it on the page, token, API key, licence.
 * @param take gets every request of the device, refused ones too; the person's are not among them
 * @throws where a request is refused
 */
export async function deviceFlow(
  where: Where,
  device: FleetDevice,
  person: { account: string; approvalCode: string },
  take: (what: string, answer: Answered) => void = () => {},
): Promise<LoggedIn> {
  const done = (what: string, answer: Answered, status = 200): Answered => {
    take(what, answer);
    if (answer.status !== status) throw new Error(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const asked = { client_id: "svc", platform: "linux-x86_64", key_thumbprint: device.thumbprint };
  const { body: code } = done("code", await send(where, "/oauth/device/code", { form: asked }));
  const browser = new Browser(where.ca);
  browser.headers = where.headers ?? {};
  await approve(code.verification_uri_complete, person.account, person.approvalCode, browser);
  const form = { grant_type: DEVICE_GRANT, device_code: code.device_code, client_id: "svc" };
  const { access_token: token } = done("token", await send(where, "/oauth/device/token", { form })).body;
  const { api_key: apiKey } = done("onboard", await onboard(where, token, device)).body;
  const [nonce, registered] = await license(where, apiKey, device);
  done("nonce", nonce!);
  return { token, apiKey, license: done("register", registered!).body.license };
}

/** Sends a request as a device does, and reads the answer to its end. */
export async function send(
  { url, ca, headers: added }: Where,
  path: string,
  { bearer, json, form }: { bearer?: string; json?: object; form?: Record<string, string> },
): Promise<Answered> {
  const headers: Record<string, string> = { ...added };
  if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`;
  if (json !== undefined) headers["content-type"] = "application/json";
  const body = form === undefined ? JSON.stringify(json ?? {}) : new URLSearchParams(form);
  const tls = ca === undefined ? {} : { tls: { ca } };
  const start = performance.now();
  const response = await fetch(url + path, { method: "POST", headers, body, ...tls });
  const text = await response.text();
  const ms = performance.now() - start;
  return { status: response.status, body: parsed(text), ms };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
