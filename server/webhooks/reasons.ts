import { Refusal } from "./guard.ts";

/** Explains error codes of Node, OpenSSL and c-ares to merchants. The first match applies. */
const REASONS: [codes: RegExp, reason: string][] = [
  [
    /^(ENOTFOUND|ENODATA|EAI_\w+|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EBADRESP|ECANCELLED)$/,
    "The receiver's name could not be resolved",
  ],
  [/^ECONNREFUSED$/, "Nothing accepts connections at the receiver's address"],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, "The receiver could not be reached"],
  [/^(ECONNRESET|EPIPE)$/, "The receiver closed the connection without a response"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "The receiver's TLS certificate is issued for another name"],
  [/^CERT_HAS_EXPIRED$/, "The receiver's TLS certificate has expired"],
  [/SELF_SIGNED|UNABLE_TO|^CERT_/, "The receiver's TLS certificate is not signed by a trusted authority"],
  [/^(EPROTO|ERR_SSL_\w+)$/, "A TLS connection to the receiver could not be established"],
  [/^INFORMATIONAL_FLOOD$/, "The receiver sent too many informational (1xx) responses"],
  [/^SWITCHING_PROTOCOLS$/, "The receiver switched to another protocol"],
  [/^HPE_HEADER_OVERFLOW$/, "The response headers of the receiver are too long"],
  [/^HPE_\w+$/, "The receiver did not return a valid HTTP response"],
];

/** Explains why an attempt received no response. Leaves out error messages, which may contain internal details. */
export function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const code = codeOf(error);
  const reason = REASONS.find(([codes]) => codes.test(code))?.[1] ?? "The attempt failed inside the server";
  return `${reason} (${code}).`;
}

/** Explains why a response counts as a failure (D13). */
export function reasonOfStatus(httpStatus: number): string {
  const returned = `The receiver returned ${httpStatus}`;
  if (httpStatus === 410) return `${returned}; no further attempts are made.`;
  if (httpStatus >= 300 && httpStatus <= 399) return `${returned}; redirects are not followed.`;
  return `${returned}.`;
}

function codeOf(error: unknown): string {
  // No connection to any of several addresses could be opened. Report the first failure.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
