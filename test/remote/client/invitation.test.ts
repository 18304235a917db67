/** The text of an invitation, whole and not. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { invitationText, readInvitation } from "../../../src/remote/client/invitation.ts";
import { newToken } from "../../../src/remote/tokens/token-text.ts";

const PIN = `SHA256:${"a".repeat(43)}`;
const invitation = { address: `tls://team.example.org:8471#${PIN}`, token: newToken() };
const text = invitationText(invitation);

/** An invitation as an svc of any kind could have made it. */
function made(body: string, version = 1): string {
  const sum = createHash("sha256").update(`svc-invitation:v1:${body}`).digest().subarray(0, 6);
  return `svc${version}:${Buffer.concat([Buffer.from(body), sum]).toString("base64url")}`;
}

test("an invitation is one word that a shell leaves as it is, and is read back", () => {
  expect(text).toMatch(/^svc1:[\w-]+$/);
  expect(readInvitation(text)).toEqual(invitation);
});

test.each<[string, (text: string) => string]>([
  ["in lines of 76 characters", (text) => text.replace(/.{76}/g, "$&\r\n")],
  ["in lines that are indented", (text) => text.replace(/.{40}/g, "$&\n    ")],
  ["with white space around it", (text) => `\n\t ${text} \n`],
  ["with its command", (text) => `svc join '${text}' --client cursor\n`],
])("it is read %s", (_, change) => {
  expect(readInvitation(change(text))).toEqual(invitation);
});

test("no cut and no changed character is taken for an invitation, and no message quotes it", () => {
  for (let end = 0; end < text.length; end++) expect(() => readInvitation(text.slice(0, end))).toThrow(/invitation/);
  for (let at = 5; at < text.length - 1; at++) {
    const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
    expect(() => readInvitation(changed)).toThrow(/^this invitation is damaged.*copy all of it again/);
    expect(() => readInvitation(changed)).not.toThrow(changed.slice(20, 40));
  }
});

test.each<[string, string, RegExp]>([
  ["nothing", "", /not an invitation.*svc serve invite/],
  ["a token", newToken(), /not an invitation/],
  ["an address", invitation.address, /not an invitation/],
  ["another program's", "tskey-auth-abc", /not an invitation/],
  ["one of a newer version", made("{}", 2), /format 2, and this svc reads 1: update svc/],
  ["one of no version", made("{}", 0), /damaged/],
  ["JSON of another shape", made('{"address":"h:1"}'), /damaged/],
  ["no JSON", made("x"), /damaged/],
  ["a socket", made(JSON.stringify({ ...invitation, address: "/tmp/s.sock" })), /damaged/],
  ["no address", made(JSON.stringify({ ...invitation, address: "--remote" })), /damaged/],
  ["a token that is not whole", made(JSON.stringify({ ...invitation, token: "svct_x\n" })), /damaged/],
])("%s is refused", (_, given, message) => {
  expect(() => readInvitation(given)).toThrow(message);
});
