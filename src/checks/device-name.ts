/** Names that are shown in lists, on pages and in terminals: of devices, of accounts, of keys. */
import { ValueError } from "../errors.ts";
import { ACCOUNT_LENGTH_MAX, DEVICE_NAME_LENGTH_MAX } from "../limits.ts";
import { shown } from "./kinds.ts";

/** Control and format characters, lone surrogates, separators of lines: what hides, or shows as another name. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** A device's name without white space around it. @throws ValueError as `checkShownName` */
export function checkDeviceName(name: string): string {
  return checkShownName(name, "device name", DEVICE_NAME_LENGTH_MAX);
}

/** The name of an account, which licences have, without white space around it. @throws ValueError as `checkShownName` */
export function checkAccount(name: string): string {
  return checkShownName(name, "account", ACCOUNT_LENGTH_MAX);
}

/**
 * A name without white space around it.
 * @param what what it is, for messages
 * @throws ValueError for one that is empty, has more than `lengthMax` characters, or hides some
 */
export function checkShownName(name: string, what: string, lengthMax: number): string {
  const plain = name.trim();
  const refuse = (why: string) => new ValueError(`${what} ${shown(name)} ${why}`);
  if (plain === "") throw refuse(`is empty: give it 1 to ${lengthMax} characters`);
  if ([...plain].length > lengthMax) throw refuse(`has more than ${lengthMax} characters`);
  if (UNSEEN.test(plain)) throw refuse("holds a control or format character");
  return plain;
}
