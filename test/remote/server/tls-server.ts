/** Servers with TLS for tests: certificates in files of their own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../../src/log.ts";
import { Certificates } from "../../../src/remote/server/tls/certificates.ts";
import { ownCertificate } from "../../../src/remote/server/tls/own-certificate.ts";
import type { Certified } from "../../e2e/certificate.ts";
import { scratchDir } from "../../fixture.ts";

/** The certificate of `--tls self`, in a home of its own. */
export async function selfTls(log: Log = () => {}, clientCa?: string): Promise<Certificates> {
  return new Certificates({ log, clientCa }, await ownCertificate(scratchDir()));
}

/** A pair in files, as `--tls-cert` and `--tls-key` name them. */
export class PairFiles {
  private readonly folder = scratchDir();
  readonly cert = join(this.folder, "cert.pem");
  readonly key = join(this.folder, "key.pem");

  constructor(pair: Certified) {
    this.write(pair);
  }

  write({ cert, key }: Certified): void {
    writeFileSync(this.cert, cert);
    writeFileSync(this.key, key);
  }

  tls(log: Log = () => {}, clientCa?: string): Certificates {
    return new Certificates({ pair: this, clientCa, log });
  }
}

/** A text in a file. */
export function fileOf(text: string): string {
  const path = join(scratchDir(), "file.pem");
  writeFileSync(path, text);
  return path;
}
