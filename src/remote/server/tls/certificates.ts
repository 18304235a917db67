/** What a TLS server shows to its clients and requires of them, from files that may change while it runs. */
import { X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { errorLine } from "../../../errors.ts";
import type { Log } from "../../../log.ts";
import { readCaFile } from "../../../trust/account/ca-file.ts";
import { readCertificate } from "../../../trust/account/certificate-files.ts";
import { fingerprintOf } from "../../wire/fingerprint.ts";

/** A server's side of TLS. */
export interface ServerTls {
  /** For the next connection. */
  readonly options: Bun.TLSOptions;
  /** The fingerprint that clients have to pin, where no authority has signed the certificate. */
  readonly pin?: string | undefined;
  /** Looks once whether the files have changed; called about once a second. */
  look(): void;
  /** Reads the files again. */
  reread(): void;
}

/** Where the certificates are. */
export interface TlsFiles {
  /** Undefined for a certificate that is kept here and does not change. */
  pair?: CertificateAndKey | undefined;
  /** Certificates of the authorities that sign those of clients. */
  clientCa?: string | undefined;
  log: Log;
}

/** A certificate and its key; PEM, or the paths of files in PEM. */
export interface CertificateAndKey {
  cert: string;
  key: string;
}

/** Certificates that are read again when their files change. */
export class Certificates implements ServerTls {
  options: Bun.TLSOptions;
  readonly pin: string | undefined;
  /** What the files were when they were last read, and when they were last looked at. */
  private readState: string;
  private lastState: string;

  /**
   * Reads the files.
   * @param own the certificate without a file pair
   * @throws OSError and ValueError, which name the file that is wrong
   */
  constructor(
    private readonly files: TlsFiles,
    private readonly own?: CertificateAndKey,
  ) {
    this.readState = this.state();
    this.lastState = this.readState;
    this.options = this.read();
    if (own) this.pin = fingerprintOf(new X509Certificate(own.cert).raw);
  }

  look(): void {
    const state = this.state();
    // Files that are written one after the other do not fit until both are there.
    const isSteady = state === this.lastState;
    this.lastState = state;
    if (isSteady && state !== this.readState) this.reread();
  }

  /** Reads the files again. What cannot be used is a warning: new connections get what earlier ones got. */
  reread(): void {
    this.readState = this.state();
    if (this.readState === "") return; // there are no files
    const { log } = this.files;
    try {
      this.options = this.read();
    } catch (error) {
      const message = `the certificate stays as it was: ${errorLine(error)}`;
      log({ level: "warn", event: "certificate_refused", message });
      return;
    }
    const fingerprint = fingerprintOf(new X509Certificate(String(this.options.cert)).raw);
    const message = `new connections get the certificate ${fingerprint}`;
    log({ level: "info", event: "certificate_read", message, fields: { fingerprint } });
  }

  private read(): Bun.TLSOptions {
    const { pair, clientCa, log } = this.files;
    const { cert, key, notes } = pair ? readCertificate(pair.cert, pair.key) : { ...this.own!, notes: [] };
    for (const message of notes) log({ level: "warn", event: "certificate", message });
    if (clientCa === undefined) return { cert, key };
    return { cert, key, ca: readCaFile(clientCa, "--client-ca"), requestCert: true, rejectUnauthorized: true };
  }

  /** Changes when a file is written or replaced, and when a link leads to another one. */
  private state(): string {
    const { pair, clientCa } = this.files;
    const paths = [pair?.cert, pair?.key, clientCa].filter((path) => path !== undefined);
    return paths.map(stateOf).join();
  }
}

function stateOf(path: string): string {
  try {
    const { dev, ino, size, mtimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs].join(":");
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
