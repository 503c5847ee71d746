// Makes X.509 certificates for tests.
import { isIP } from "node:net";
import { generate } from "selfsigned";

export type Certified = { cert: string; key: string };

const dayMs = 86_400_000;

/**
 * Makes a certificate and its key, in PEM.
 * @param settings.hosts host names and IP addresses
 * @param settings.validDays the days from now until the certificate expires; a negative number for an expired
 * certificate
 * @param settings.issuer the CA that signs the certificate. By default it is self-signed, and can sign others.
 */
export async function makeCertificate(settings: {
  name: string;
  hosts?: string[];
  validDays?: number;
  issuer?: Certified;
}): Promise<Certified> {
  const { name, hosts = [], validDays = 1, issuer } = settings;
  const altNames = hosts.map((host) =>
    isIP(host) ? { type: 7 as const, ip: host } : { type: 2 as const, value: host },
  );
  const { cert, private: key } = await generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(Date.now() - 100 * dayMs),
    notAfterDate: new Date(Date.now() + validDays * dayMs),
    ...(issuer && { ca: issuer }),
    extensions: [
      { name: "basicConstraints", cA: !issuer },
      ...(altNames.length > 0 ? [{ name: "subjectAltName" as const, altNames }] : []),
    ],
  });
  return { cert: `${cert.trim()}\n`, key };
}
