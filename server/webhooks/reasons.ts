import { Refusal } from "./guard.ts";

/** What the codes of Node, OpenSSL, c-ares and undici mean to somebody whose webhook did not arrive; the first match counts. */
const REASONS: [codes: RegExp, reason: string][] = [
  [
    /^(ENOTFOUND|ENODATA|EAI_\w+|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EBADRESP|ECANCELLED)$/,
    "The receiver's name could not be resolved",
  ],
  [/^ECONNREFUSED$/, "Nothing accepts connections at the receiver's address"],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/, "The receiver could not be reached"],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "The receiver closed the connection without an answer"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "The receiver's TLS certificate is for another name"],
  [/^CERT_HAS_EXPIRED$/, "The receiver's TLS certificate has expired"],
  [/SELF_SIGNED|UNABLE_TO|^CERT_/, "The receiver's TLS certificate is not signed by an authority that is trusted here"],
  [/^(EPROTO|ERR_SSL_\w+)$/, "No TLS connection could be made with the receiver"],
  [/^UND_ERR_HEADERS_OVERFLOW$/, "The headers of the receiver's answer are too long"],
  [/^(HPE_\w+|HTTPParserError|UND_ERR_RES_\w+)$/, "The receiver did not answer in valid HTTP"],
  [/^(UND_ERR_DESTROYED|UND_ERR_CLOSED)$/, "The server stopped before the receiver answered"],
];

/** Why an attempt had no answer. Texts of errors are not repeated: they may hold more than people should see. */
export function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const code = codeOf(error);
  const reason = REASONS.find(([codes]) => codes.test(code))?.[1] ?? "The attempt failed inside the server";
  return `${reason} (${code}).`;
}

/** Why an answer is a failure (D13). */
export function reasonOfStatus(httpStatus: number): string {
  const answered = `The receiver answered ${httpStatus}`;
  if (httpStatus === 410) return `${answered}: it wants no further attempts.`;
  if (httpStatus >= 300 && httpStatus <= 399) return `${answered}; redirects are not followed.`;
  return `${answered}.`;
}

function codeOf(error: unknown): string {
  // Several addresses were tried: the first failure stands for all.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
