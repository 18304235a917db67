/** Certificates of PostgreSQL servers, signed by an authority that only the tests know. */
import { type Certified, PrivateAuthority } from "../e2e/certificate.ts";

const authority = new PrivateAuthority("Root of the database");

/** The authority's certificate, PEM: what a client is configured to trust. */
export const ROOT_CERTIFICATE: string = authority.cert;

/** The certificate of the authority of another organisation, PEM. */
export const OTHER_ROOT_CERTIFICATE: string = new PrivateAuthority("Another root").cert;

/** For the host at which the tests reach a server. */
export const LOCALHOST: Certified = authority.issue("localhost", "127.0.0.1");

/** For another host, as a server has that took over the address of the right one. */
export const OTHER_HOST: Certified = authority.issue("db.example.com");
