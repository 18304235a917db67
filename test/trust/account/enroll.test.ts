/** Enrolment as a device does it: keys that are refused before they are sent, and what each refusal says. */
import { describe, expect, test } from "bun:test";
import { verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { checkDeviceName } from "../../../src/checks/device-name.ts";
import { OSError, PermissionError, RuntimeError, ValueError } from "../../../src/errors.ts";
import { accountPaths } from "../../../src/paths.ts";
import { proofMessage } from "../../../src/trust/account/device-proof.ts";
import { enrollKeyId, givenEnrollKey, newEnrollKey } from "../../../src/trust/account/enroll-key.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import {
  authorityIn,
  facesOf,
  failure,
  fakeServer,
  goodClaims,
  homeWithDevice,
  LICENSE_PUBLIC_PEM,
  LOCAL_BUILD,
  newHome,
  signed,
} from "./helpers.ts";

const env = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
const enter = (home: string, url: string, key = newEnrollKey(), more = {}) =>
  login({ home, env, endpoints: facesOf(url), build: LOCAL_BUILD, enrollKey: key, ...more });

describe("the text of an enrolment key", () => {
  test("is what the format says, and every wrong character of it is noticed", () => {
    const { id, text } = newEnrollKey();
    expect(text).toMatch(/^sve_[0-9a-f]{12}_[\w-]{43}$/);
    expect(givenEnrollKey(text)).toEqual({ id, text });
    for (let at = 4; at < text.length; at++) {
      for (const sign of "0aA_-9") {
        if (text[at] === sign) continue;
        expect(enrollKeyId(text.slice(0, at) + sign + text.slice(at + 1))).toBeUndefined();
      }
    }
  });

  test("that is not a key is refused with what is wrong, and without the text", async () => {
    const { text } = newEnrollKey();
    const swapped = text.slice(0, 20) + text[21] + text[20] + text.slice(22);
    for (const [wrong, why] of [
      [text.slice(0, -1), /^the enrolment key has 59 characters, not 60: nothing was sent/],
      [`${text}${text}`, /has 120 characters, not 60/],
      [text.toUpperCase(), /does not begin with sve_/],
      ["sve_", /has 4 characters, not 60/],
      [text[20] === text[21] ? `${text.slice(0, -2)}zz` : swapped, /is mistyped: its checksum is wrong/],
      [text.replace(/.$/, "."), /has characters that no enrolment key has/],
      ["svt_abc", /is an access token or an API key/],
      ["é", /does not begin with sve_/],
    ] as const) {
      const error = await failure(() => givenEnrollKey(wrong), ValueError, why);
      expect(error.message).not.toContain(wrong.slice(5) || "no text");
    }
  });
});

describe("an enrolment", () => {
  /** An authority that enrols every device, and what it was sent. */
  function enroller(answerWith: (turn: number) => Response | undefined = () => undefined) {
    const sent: { bearer: string; body: Record<string, string> }[] = [];
    const server = fakeServer(async (request) => {
      const body = (await request.json()) as Record<string, string>;
      sent.push({ bearer: request.headers.get("authorization")!.slice(7), body });
      const other = answerWith(sent.length);
      if (other) return other;
      const license = await signed(goodClaims(body.key_thumbprint!));
      return Response.json({ access_token: "svt_t", token_type: "Bearer", api_key: "svk_k", account: "a", license });
    });
    return { ...server, sent };
  }

  test("is one request, which proves the device's key for this key and names no host", async () => {
    const { home, device } = await homeWithDevice();
    const { url, paths, sent } = enroller();
    const key = newEnrollKey();
    await enter(home, url, key, { deviceName: "build 7" });
    expect(paths).toEqual(["/v1/svc/enroll"]);
    const { bearer, body } = sent[0]!;
    expect(bearer).toBe(key.text);
    expect(Object.keys(body).sort()).toEqual(
      ["device_id", "host_hash", "key_thumbprint", "name", "platform", "public_key", "signature"].sort(),
    );
    expect(body).toMatchObject({ device_id: device.id, key_thumbprint: device.thumbprint, name: "build 7" });
    const publicKey = { key: { kty: "OKP", crv: "Ed25519", x: body.public_key! }, format: "jwk" } as const;
    const signature = Buffer.from(body.signature!, "base64url");
    expect(verify(null, proofMessage("enroll", device.id, key.text), publicKey, signature)).toBe(true);
    const digest = new Bun.CryptoHasher("sha256").update(key.text).digest("base64url");
    const message = Buffer.from(proofMessage("enroll", device.id, key.text)).toString();
    expect(message).toBe(`svc-enroll:v1:${device.id}:${digest}`);
    expect(readFileSync(accountPaths(home).token, "utf8")).toBe("svt_t\n");
    expect((await requireLogin(home, env, { build: LOCAL_BUILD })).tier).toBe("community");
    // The key is used, and stays nowhere.
    for (const name of readdirSync(home))
      if (name !== "authority") expect(readFileSync(`${home}/${name}`, "utf8")).not.toContain(key.text);
  });

  test("whose answer is lost is sent once more, with the same proof", async () => {
    const { url, sent } = enroller();
    let connections = 0;
    const lossy = createServer((client) => {
      const isFirst = ++connections === 1;
      const server = connect(Number(new URL(url).port), "127.0.0.1");
      client.pipe(server);
      // The authority has answered, and the device does not learn it.
      server.on("data", (bytes) => void (isFirst ? client.destroy() : client.write(bytes)));
      const close = () => [client, server].forEach((end) => void end.destroy());
      for (const end of [client, server]) end.on("error", close).on("close", close);
    });
    await new Promise<void>((listening) => void lossy.listen(0, "127.0.0.1", listening));
    const { port } = lossy.address() as AddressInfo;
    const home = newHome();
    await enter(home, `http://127.0.0.1:${port}`);
    lossy.close();
    expect(sent).toHaveLength(2);
    expect(sent[0]).toEqual(sent[1]!);
    const gone = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    await gone.stop(true);
    expect(await failure(() => enter(home, `http://127.0.0.1:${gone.port}`))).toBeInstanceOf(OSError);
  });

  test("that a proxy has lost is sent once more, and a second loss is said", async () => {
    const { url, sent } = enroller((turn) => (turn === 1 ? new Response("<html>", { status: 502 }) : undefined));
    await enter(newHome(), url);
    expect(sent).toHaveLength(2);
    expect(sent[0]).toEqual(sent[1]!);
    const lost = enroller(() => new Response("", { status: 504 }));
    const error = await failure(() => enter(newHome(), lost.url));
    expect(error.message).toBe("the api server answered with status 504: try again later");
    expect(lost.sent).toHaveLength(2);
  });

  test("that is refused says why, of which key, and leaves the earlier login as it was", async () => {
    const { home } = await homeWithDevice();
    await enter(home, enroller().url);
    const files = () => readdirSync(home).map((name) => name + readFileSync(`${home}/${name}`, "utf8"));
    const before = files();
    for (const [status, error, says] of [
      [401, "invalid_enroll_key", /^the enrolment key ID is not known to ORIGIN: is it another organisation's\?$/],
      [403, "enroll_key_used", /^the enrolment key ID has been used as often as it may be: ask for another one$/],
      [403, "enroll_key_revoked", /^the enrolment key ID was revoked: ask for another one$/],
      [403, "enroll_key_expired", /^the enrolment key ID has expired: ask for another one$/],
      [403, "device_revoked", /^this device was revoked at ORIGIN: ask its administrator, then 'svc login'$/],
      [409, "device_conflict", /^the device id is registered with another key: run 'svc logout', then 'svc login'$/],
      [403, "invalid_signature", /^the authority refuses to license this device$/],
      [503, "temporarily_unavailable", /^ORIGIN cannot answer at the moment \(it is busy, or its disk is full/],
      [429, "slow_down", /^ORIGIN cannot answer at the moment \(it is busy/],
      [429, "too_many_failures", /\(too many keys and tokens that are not valid came from this address\): try again/],
      [500, "device_revoked", /^the api server answered with status 500: try again later$/],
      [403, "constructor", /^the authority refuses to license this device$/],
      [403, 5, /^the authority refuses to license this device$/],
    ] as const) {
      const { url, paths } = enroller(() => Response.json({ error }, { status }));
      const key = newEnrollKey();
      const refused = await failure(() => enter(home, url, key));
      expect(refused).toBeInstanceOf(status >= 429 ? RuntimeError : PermissionError);
      expect(refused.message.replace(key.id, "ID").replace(url, "ORIGIN")).toMatch(says);
      expect(refused.message).not.toContain(key.text);
      expect(paths).toHaveLength(1);
    }
    expect(files()).toEqual(before);
  });

  test("is not begun where the environment's secrets would be used in its place", async () => {
    const { url, paths } = enroller();
    for (const name of ["SVC_TOKEN", "SVC_API_KEY"]) {
      const error = await failure(() => enter(newHome(), url, newEnrollKey(), { env: { ...env, [name]: "x" } }));
      expect(error).toBeInstanceOf(ValueError);
      expect(error.message).toStartWith(`${name} is set`);
    }
    expect(paths).toEqual([]);
  });
});

test("a nonce that would be a proof is not signed", async () => {
  const { home, device } = await homeWithDevice();
  const nonce = Buffer.from(proofMessage("onboard", device.id, "svt_other")).toString();
  const { url, paths } = fakeServer((_, path) =>
    path.endsWith("nonce") ? Response.json({ nonce }) : Response.json({ api_key: "k" }),
  );
  const error = await failure(() =>
    login({ home, env: { ...env, SVC_TOKEN: "svt_t" }, endpoints: facesOf(url), build: LOCAL_BUILD }),
  );
  expect(error.message).toBe("the api server answered without a usable 'nonce'");
  expect(paths).toEqual(["/v1/svc/onboard", "/v1/device/nonce"]);
});

test("a device's name has 1 to 64 characters, all of which can be seen", async () => {
  expect(checkDeviceName("  Ada's laptop (Köln) ")).toBe("Ada's laptop (Köln)");
  expect(checkDeviceName("機".repeat(64))).toHaveLength(64);
  for (const name of ["", "  ", "a\u001b[2Jb", "a\nb", "a\u202eb", "a\u200bb", "a\ud800b", "x".repeat(65), "a\u2028b"])
    expect(await failure(() => checkDeviceName(name))).toBeInstanceOf(ValueError);
});

test("a login by code names the device's key, to which the token is bound", async () => {
  const home = newHome();
  const { url } = await authorityIn(home, { approve: "yes" });
  let asked = "";
  const front = fakeServer(async (request, path) => {
    const body = await request.text();
    if (path === "/oauth/device/code") asked = body;
    return fetch(url + path, { method: "POST", headers: request.headers, body });
  });
  await login({ home, env: {}, endpoints: facesOf(front.url), build: LOCAL_BUILD });
  const { thumbprint } = await (await import("../../../src/trust/account/device.ts")).ensureDevice(home);
  expect(new URLSearchParams(asked).get("key_thumbprint")).toBe(thumbprint);
});
