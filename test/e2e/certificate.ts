/** Certificates that are made on this machine: X.509 as in RFC 5280, as short as TLS servers and clients take them. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import { pem, sequence, value } from "../../src/remote/server/tls/der.ts";

/** A certificate and its private key, PEM. */
export interface Certified {
  cert: string;
  key: string;
}

/** For `localhost`, signed by its own key alone; valid until 2049. */
export function selfSigned(): Certified {
  const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const cert = certificate({ subject: "localhost", issuer: "localhost", own: own.publicKey, by: own.privateKey });
  return { cert, key: pemOf(own.privateKey) };
}

/** An organisation's own certificate authority; valid until 2049. */
export class PrivateAuthority {
  /** Its root, PEM. */
  readonly cert: string;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });

  constructor(readonly name = "Example Root") {
    const { publicKey: own, privateKey: by } = this.#keys;
    const constraints = extension("551d13", true, sequence(value(0x01, Buffer.from([0xff]))));
    const usage = extension("551d0f", true, value(0x03, Buffer.from([1, 0x06])));
    const extensions = [constraints, usage, keyIdentifier(own)];
    this.cert = certificate({ subject: name, issuer: name, own, by, extensions });
  }

  /** A server's certificate for these names and IPv4 addresses. */
  issue(...hosts: string[]): Certified {
    return this.#issue(hosts, "491231235959Z");
  }

  /** One that ended in 2021. */
  expired(...hosts: string[]): Certified {
    return this.#issue(hosts, "210101000000Z");
  }

  /** A client's certificate. */
  issueClient(name: string): Certified {
    return this.#issue([name], "491231235959Z", FOR_CLIENTS);
  }

  #issue(hosts: string[], until: string, purpose = FOR_SERVERS): Certified {
    const { publicKey: own, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const names = hosts.map((host) =>
      isIPv4(host) ? value(0x87, Buffer.from(host.split(".").map(Number))) : value(0x82, Buffer.from(host)),
    );
    const extensions = [
      extension("551d0f", true, value(0x03, Buffer.from([7, 0x80]))),
      extension("551d25", false, sequence(Buffer.from(purpose, "hex"))),
      extension("551d11", false, sequence(...names)),
      keyIdentifier(own),
      extension("551d23", false, sequence(value(0x80, identifierOf(this.#keys.publicKey)))),
    ];
    const [subject, issuer, by] = [hosts[0]!, this.name, this.#keys.privateKey];
    return { cert: certificate({ subject, issuer, own, by, extensions, until }), key: pemOf(privateKey) };
  }
}

/** Extended key usages, in DER. */
const FOR_SERVERS = "06082b06010505070301";
const FOR_CLIENTS = "06082b06010505070302";

interface Made {
  subject: string;
  issuer: string;
  own: KeyObject;
  /** The key that signs. */
  by: KeyObject;
  /** Without any it is of version 1. */
  extensions?: Buffer[];
  /** UTCTime. */
  until?: string;
}

function certificate({ subject, issuer, own, by, extensions = [], until = "491231235959Z" }: Made): string {
  const ecdsaWithSha256 = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
  const times = ["200101000000Z", until].map((time) => value(0x17, Buffer.from(time)));
  const isPlain = extensions.length === 0;
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const body = sequence(
    ...(isPlain ? [] : [value(0xa0, value(0x02, Buffer.from([2])))]),
    value(0x02, serial),
    ecdsaWithSha256,
    named(issuer),
    sequence(...times),
    named(subject),
    own.export({ type: "spki", format: "der" }),
    ...(isPlain ? [] : [value(0xa3, sequence(...extensions))]),
  );
  const signature = value(0x03, Buffer.from([0]), sign("sha256", body, by));
  return pem(sequence(body, ecdsaWithSha256, signature));
}

function named(commonName: string): Buffer {
  return sequence(value(0x31, sequence(Buffer.from("0603550403", "hex"), value(0x0c, Buffer.from(commonName)))));
}

function extension(id: string, isCritical: boolean, content: Buffer): Buffer {
  const critical = isCritical ? [value(0x01, Buffer.from([0xff]))] : [];
  return sequence(value(0x06, Buffer.from(id, "hex")), ...critical, value(0x04, content));
}

function keyIdentifier(key: KeyObject): Buffer {
  return extension("551d0e", false, value(0x04, identifierOf(key)));
}

function identifierOf(key: KeyObject): Buffer {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
