// Describes network and TLS errors in words: what is wrong, and what to do.

export type HttpFailure = {
  failure: string;
  /** True if no connection was established. The request then cannot have reached the target. */
  unreachable: boolean;
};

type NetworkError = NodeJS.ErrnoException & { cert?: { subjectaltname?: string; subject?: { CN?: string } } };

const unknownCa = () =>
  "the server's certificate is signed by a CA that this machine does not know. Pass the CA's certificate with --ca FILE. " +
  "If the CA is public, the server must also send its intermediate certificates";

const clientCertificate = () =>
  "the server requires a client certificate, or rejects the given one. Pass a certificate that the server accepts with --cert FILE --key FILE";

const plainHttp = (host: string) =>
  `${host} speaks plain http, not https. Use http:// in --base-url, or the port of https`;

const noRoute = (host: string) => `there is no route to ${host}. Check the network, the VPN and the firewall`;

/** The host and port of a URL, with the port even if it is the default. */
export const hostOf = ({ hostname, port, protocol }: URL) =>
  `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;

/** What each error code means. With all of them, the connection was not established. */
const meanings: Record<string, (host: string, error: NetworkError) => string> = {
  ECONNREFUSED: (host) =>
    `nothing listens on ${host} (connection refused). Start the service, or correct the host and port`,
  ENOTFOUND: (host) => `the host name of ${host} does not exist. Correct the host in the URL`,
  EAI_AGAIN: (host) => `the host name of ${host} cannot be resolved. Check this machine's network and DNS server`,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ETIMEDOUT: (host) => `${host} does not respond to connections. Check the host, the port and the firewall`,
  DEPTH_ZERO_SELF_SIGNED_CERT: (host) =>
    "the server's certificate is self-signed, and this machine does not trust it. If you do, save it with " +
    `\`openssl s_client -connect ${host} </dev/null | openssl x509 > server.pem\` and add --ca server.pem`,
  SELF_SIGNED_CERT_IN_CHAIN: unknownCa,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownCa,
  CERT_HAS_EXPIRED: () =>
    "the server's certificate has expired. Renew it on the server; also check this machine's clock",
  CERT_NOT_YET_VALID: () => "the server's certificate is not valid yet. Check this machine's clock and the certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: (host, { cert }) =>
    `the server's certificate is for ${cert?.subjectaltname || cert?.subject?.CN || "another host"}, not for ${host}. ` +
    "Use a host name of the certificate in the URL, or install a certificate for this host",
  EPROTO: plainHttp,
  ERR_SSL_WRONG_VERSION_NUMBER: plainHttp,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: plainHttp,
};

export function describeError(error: NetworkError, origin: URL): HttpFailure {
  // If a host has several addresses, Node reports an AggregateError with one error per address.
  const inner = error instanceof AggregateError ? (error.errors[0] as NetworkError) : error;
  const code = inner.code ?? error.code ?? "";
  const meaning = /^ERR_SSL_.*ALERT/.test(code) ? clientCertificate : meanings[code];
  if (meaning) return { failure: meaning(hostOf(origin), inner), unreachable: true };
  if (code === "ECONNRESET" || inner.message === "socket hang up") {
    return { failure: "the connection was closed without a response", unreachable: false };
  }
  return { failure: inner.message || code, unreachable: false };
}
