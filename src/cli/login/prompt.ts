/** What a person sees of a login, and may press. */

import type { Env } from "../../paths.ts";
import type { DeviceCode } from "../../trust/account/login/device-flow.ts";
import { onEnter } from "../terminal/enter.ts";
import { note } from "../terminal/output.ts";
import { findBrowser, openBrowser } from "./browser.ts";

/**
 * Shows where the login is confirmed, its origin first, and the code. Nothing is opened but by Enter.
 * @param offered whether Enter may open the browser, where there is one
 * @returns what ends the waiting for Enter; the login itself is not waited for
 */
export function showCode(code: DeviceCode, { env, offered, isLocal }: PromptOptions): Disposable {
  const { userCode, verificationUri, verificationUriComplete: address } = code;
  note(`confirm the login at ${new URL(address).origin}${isLocal ? " (this machine's local authority)" : ""}`);
  note(`  code: ${userCode}`);
  note(`  address: ${address}`);
  if (verificationUri !== address) note(`  or enter the code at ${verificationUri}`);
  const opener = offered ? findBrowser(env) : undefined;
  const enter = opener === undefined ? undefined : onEnter(() => open(opener, address));
  note(
    `${enter === undefined ? byHand(isLocal) : "press Enter to open the browser, or open the address yourself"}; Ctrl-C stops`,
  );
  return { [Symbol.dispose]: () => enter?.[Symbol.dispose]() };
}

/** Its own page is one that only browsers of this machine reach, of which a container or a server may have none. */
function byHand(isLocal: boolean): string {
  const address = "open the address in a browser";
  return isLocal ? `${address} of this machine, or use 'svc login --yes' instead` : address;
}

export interface PromptOptions {
  readonly env: Env;
  readonly offered: boolean;
  /** Whether the page is this machine's own. */
  readonly isLocal: boolean;
}

function open(opener: string, address: string): void {
  note("opening the browser; waiting for the confirmation");
  openBrowser(opener, address, () => note("the browser did not open: open the address yourself"));
}
