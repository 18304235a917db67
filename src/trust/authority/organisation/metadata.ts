/** What an organisation's authority says of itself to programs that know its address alone. */
import { DEVICE_GRANT } from "../../account/login/device-flow.ts";
import { type Authority, answerJson, type Routes } from "../context.ts";
import { licenseJwks } from "../license-keys.ts";

/** GET /.well-known/oauth-authorization-server (RFC 8414 §2, §3.2); `svc_…` are our own. */
function metadata(authority: Authority): Response {
  const issuer = authority.publicUrl();
  return answerJson(200, {
    issuer,
    device_authorization_endpoint: `${issuer}/oauth/device/code`,
    token_endpoint: `${issuer}/oauth/device/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    grant_types_supported: [DEVICE_GRANT],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ["none"],
    svc_api: issuer,
    svc_packages: issuer,
    svc_enrollment_endpoint: `${issuer}/v1/svc/enroll`,
    svc_license_keys: `${issuer}/v1/license-keys`,
  });
}

/** GET /.well-known/jwks.json (RFC 7517 §5): the LICENSE keys, newest first. */
function jwks({ keys }: Authority): Response {
  return answerJson(200, { keys: licenseJwks(keys) });
}

export const METADATA_ROUTES: Routes = {
  "GET /.well-known/oauth-authorization-server": metadata,
  "GET /.well-known/jwks.json": jwks,
};
