/**
 * An invitation to a served memory: its address and a token, as one word that a person pastes. `svc1:` and base64url of
 * JSON, followed by a checksum, which distinguishes an invitation that was cut off from one that was not made by svc.
 */
import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { attempt, ValueError } from "../../errors.ts";
import { isWholeToken } from "../tokens/token-text.ts";
import { parseAddress } from "./address.ts";

/** What an invitation holds. */
export interface Invitation {
  /** As `connect` takes it, with the fingerprint of the server's certificate where clients have to pin it. */
  readonly address: string;
  readonly token: string;
}

const VERSION = 1;
const CHECKSUM_BYTES = 6;
/** The command around an invitation may be pasted with it. */
const SHAPE = /svc(\d{1,9}):([\w-]*)/;

/** The text of an invitation. */
export function invitationText({ address, token }: Invitation): string {
  const body = Buffer.from(JSON.stringify({ address, token }));
  return `svc${VERSION}:${Buffer.concat([body, checksum(body)]).toString("base64url")}`;
}

/**
 * Reads an invitation. White space in it does not count: mail programs break long lines.
 * @throws ValueError for anything else; no message quotes the text, which has a secret
 */
export function readInvitation(text: string): Invitation {
  const [, version, body = ""] = SHAPE.exec(text.replace(/\s+/g, "")) ?? [];
  if (version === undefined)
    throw new ValueError(
      "this is not an invitation: one begins with svc1:, as 'svc serve invite' prints it on the server's machine",
    );
  if (Number(version) > VERSION)
    throw new ValueError(`this invitation has format ${version}, and this svc reads ${VERSION}: update svc here`);
  const bytes = Buffer.from(body, "base64url");
  const [json, sum] = [bytes.subarray(0, -CHECKSUM_BYTES), bytes.subarray(-CHECKSUM_BYTES)];
  const parsed = checksum(json).equals(sum)
    ? INVITATION.safeParse(attempt(() => JSON.parse(json.toString())))
    : undefined;
  if (Number(version) === VERSION && parsed?.success) return parsed.data;
  throw new ValueError(
    "this invitation is damaged, or a part of it is missing: copy all of it again, or ask for another one",
  );
}

function checksum(body: Uint8Array): Buffer {
  return createHash("sha256").update(`svc-invitation:v${VERSION}:`).update(body).digest().subarray(0, CHECKSUM_BYTES);
}

const INVITATION = z.object({
  address: z.string().check(z.refine((address) => attempt(() => parseAddress(address))?.kind === "tcp")),
  token: z.string().check(z.refine(isWholeToken)),
});
