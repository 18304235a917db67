/** What is wrong with a peer's certificate, from the code that Bun has for it. */

/**
 * The end of a sentence that begins with "its certificate"; undefined where the code is not about a certificate.
 * @param remedy for one that no known authority has signed
 */
export function certificateFault(code: string, remedy: string): string | undefined {
  const byClock = `by this machine's clock, which says ${new Date().toISOString().slice(0, 16)}Z`;
  if (code === "CERT_HAS_EXPIRED") return `has expired ${byClock}`;
  if (code === "CERT_NOT_YET_VALID") return `is not valid yet ${byClock}`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "is for another name";
  if (!/^[A-Z_]*(?:CERT|VERIFY)[A-Z_]*$/.test(code)) return undefined;
  return `is not trusted (${code}); ${remedy}`;
}
