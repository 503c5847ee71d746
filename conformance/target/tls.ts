// Reads and validates the certificates that the caller gives, and creates the settings of TLS connections from them.
import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import * as tls from "node:tls";

/** Certificates and a private key, in PEM. */
export type TlsFiles = {
  /** Certificates to trust, in addition to the usual certificates. */
  ca?: string;
  /** The client's certificate, with its chain. It is set if and only if `key` is. */
  cert?: string;
  key?: string;
};

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function readFile(flag: string, file: string, faults: string[]): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    faults.push(`--${flag}: cannot read ${file}: ${(error as Error).message}`);
    return undefined;
  }
}

function readCertificates(flag: string, file: string, faults: string[]): X509Certificate[] {
  const text = readFile(flag, file, faults);
  if (text === undefined) return [];
  try {
    const found = (text.match(certificates) ?? []).map((pem) => new X509Certificate(pem));
    if (found.length === 0) {
      const given = text.includes("PRIVATE KEY") ? "it contains a private key" : "it contains no certificate in PEM";
      faults.push(`--${flag}: ${file} must contain a certificate (-----BEGIN CERTIFICATE-----), but ${given}`);
    }
    return found;
  } catch {
    faults.push(`--${flag}: ${file} contains a damaged certificate`);
    return [];
  }
}

function readKey(file: string, faults: string[]): { pem: string; key: KeyObject } | undefined {
  const pem = readFile("key", file, faults);
  if (pem === undefined) return undefined;
  try {
    return { pem, key: createPrivateKey(pem) };
  } catch {
    const why = pem.includes("ENCRYPTED")
      ? "is encrypted: decrypt it with openssl pkey"
      : "is not a private key in PEM";
    faults.push(`--key: ${file} ${why}`);
    return undefined;
  }
}

const pemOf = (found: readonly X509Certificate[]) => found.map(String).join("");

/**
 * Reads the files of `--ca`, `--cert` and `--key`. Adds what is wrong with them to `faults`.
 * @returns undefined if no file was given
 */
export function readTls(
  files: { ca?: string; cert?: string; key?: string },
  now: Date,
  faults: string[],
): TlsFiles | undefined {
  const ca = files.ca === undefined ? [] : readCertificates("ca", files.ca, faults);
  if ((files.cert === undefined) !== (files.key === undefined)) {
    const [given, missing] = files.cert === undefined ? ["key", "cert"] : ["cert", "key"];
    faults.push(`--${given} needs --${missing}: a client certificate consists of both files`);
  }
  const chain = files.cert === undefined ? [] : readCertificates("cert", files.cert, faults);
  const key = files.key === undefined ? undefined : readKey(files.key, faults);
  const [own] = chain;
  if (own && key && !own.checkPrivateKey(key.key)) faults.push("--key does not belong to the certificate in --cert");
  if (own && own.validToDate < now) faults.push(`--cert expired on ${own.validToDate.toISOString()}`);
  if (ca.length === 0 && chain.length === 0) return undefined;
  return {
    ...(ca.length > 0 ? { ca: pemOf(ca) } : {}),
    ...(own && key ? { cert: pemOf(chain), key: key.pem } : {}),
  };
}

/**
 * The certificates that this process trusts by default. Node before 22.15 cannot list the certificates of
 * NODE_EXTRA_CA_CERTS.
 */
const trusted = () => (tls.getCACertificates as typeof tls.getCACertificates | undefined)?.() ?? tls.rootCertificates;

/** Creates the settings of TLS connections; undefined for the default settings. */
export function tlsContext({ ca, cert, key }: TlsFiles): tls.SecureContext | undefined {
  if (ca === undefined && cert === undefined) return undefined;
  return tls.createSecureContext({ ...(ca === undefined ? {} : { ca: [...trusted(), ca] }), cert, key });
}
