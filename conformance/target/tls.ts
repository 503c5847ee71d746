// Reads and validates the certificates that the caller gives, and creates the settings of TLS connections from them.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as tls from "node:tls";

export type TlsCertificates = {
  /** Certificates to trust, in addition to the default ones. All fields are PEM texts. */
  ca?: string;
  /** The client's certificate, with its chain. It is set if and only if `key` is. */
  cert?: string;
  key?: string;
};

/** Reads and parses a file. Adds what is wrong with it to `faults`. */
function read<T>(flag: string, file: string, faults: string[], parse: (text: string) => T): T | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    faults.push(`--${flag}: cannot read ${file}: ${(error as Error).message}`);
    return undefined;
  }
  try {
    return parse(text);
  } catch {
    const what = flag === "key" ? "an unencrypted private key" : "certificates (-----BEGIN CERTIFICATE-----)";
    faults.push(`--${flag}: ${file} must contain ${what} in PEM, and nothing damaged`);
    return undefined;
  }
}

function certificatesIn(text: string): X509Certificate[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!found) throw new Error("no certificate");
  return found.map((pem) => new X509Certificate(pem));
}

const keyIn = (pem: string) => ({ pem, key: createPrivateKey(pem) });

/** Reads the files of `--ca`, `--cert` and `--key`. Adds what is wrong with them to `faults`. */
export function readTls(
  files: { ca?: string; cert?: string; key?: string },
  now: Date,
  faults: string[],
): TlsCertificates | undefined {
  if ((files.cert === undefined) !== (files.key === undefined)) {
    const [given, missing] = files.cert === undefined ? ["key", "cert"] : ["cert", "key"];
    faults.push(`--${given} needs --${missing}: a client certificate consists of both files`);
  }
  const ca = files.ca === undefined ? undefined : read("ca", files.ca, faults, certificatesIn);
  const chain = files.cert === undefined ? undefined : read("cert", files.cert, faults, certificatesIn);
  const key = files.key === undefined ? undefined : read("key", files.key, faults, keyIn);
  const [own] = chain ?? [];
  if (own && key && !own.checkPrivateKey(key.key)) faults.push("--key does not belong to the certificate in --cert");
  if (own && own.validToDate < now) faults.push(`--cert expired on ${own.validToDate.toISOString()}`);
  if (!ca && !chain) return undefined;
  return { ...(ca ? { ca: ca.join("") } : {}), ...(chain && key ? { cert: chain.join(""), key: key.pem } : {}) };
}

/**
 * The certificates that this process trusts by default. Node before 22.15 cannot list the certificates of
 * NODE_EXTRA_CA_CERTS.
 */
const trusted = () => (tls.getCACertificates as typeof tls.getCACertificates | undefined)?.() ?? tls.rootCertificates;

export function tlsContext({ ca, cert, key }: TlsCertificates): tls.SecureContext | undefined {
  if (ca === undefined && cert === undefined) return undefined;
  return tls.createSecureContext({ ...(ca === undefined ? {} : { ca: [...trusted(), ca] }), cert, key });
}
