/** An organisation's authority with administrators and records, for tests of its pages. */

import { authorityPaths } from "../../../src/paths.ts";
import { addAdministrator } from "../../../src/trust/authority/administrators.ts";
import type { NewDevice } from "../../../src/trust/authority/ledger/devices.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import type { AuthorityOptions } from "../../../src/trust/authority/server/server.ts";
import { freePort } from "../../free-port.ts";
import { authorityIn, newHome } from "../account/helpers.ts";
import { Browser } from "./client.ts";

export interface Organisation {
  /** Its public address, and the one that it listens on. */
  readonly url: string;
  readonly local: string;
  /** The same records as another process has them open. */
  readonly ledger: Ledger;
  /** The code of the administrator Ada. */
  readonly code: string;
}

/** Starts one on loopback, with the administrator Ada. */
export async function organisation(options: Partial<AuthorityOptions> = {}): Promise<Organisation> {
  const home = newHome();
  const port = freePort();
  const running = await authorityIn(home, { organisation: true, port, ...options });
  const path = authorityPaths(home).ledger;
  const ledger = new Ledger(path, home);
  const code = addAdministrator(ledger, "Ada", "test", (options.now ?? Date.now)());
  return { url: running.url, local: `http://127.0.0.1:${port}`, ledger, code };
}

/** The id of the device with a number. */
export const idOf = (n: number) => n.toString(16).padStart(32, "0");

/** Registers a device. */
export function addDevice(ledger: Ledger, n: number, more: Partial<NewDevice> = {}, now = Date.now()): string {
  const device = {
    deviceId: idOf(n),
    thumbprint: `ed25519:${Buffer.from(n.toString(16).padStart(64, "0"), "hex").toString("base64url")}`,
    publicKey: Buffer.alloc(32, n).toString("base64url"),
    platform: "linux-x86_64",
    hostHash: `sha256:${"0".repeat(64)}`,
    account: "build",
    ...more,
  };
  if (ledger.devices.register(device, now) !== "new") throw new Error(`device ${n} was there`);
  return device.deviceId;
}

/** A browser in miniature that is signed in. */
export async function signedIn({ url, code }: Pick<Organisation, "url" | "code">): Promise<Browser> {
  const browser = new Browser();
  await browser.get(`${url}/admin`);
  const response = await browser.post(`${url}/admin/sign-in`, { ...browser.fields, code });
  if (!response.ok || !response.url.endsWith("/admin/devices")) throw new Error(`not signed in: ${response.status}`);
  return browser;
}
