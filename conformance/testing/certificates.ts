// Makes X.509 certificates for tests. Node can only read them, so this file writes the few DER structures itself.
import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { isIP } from "node:net";

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const objectId = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const integer = (value: number) => der(0x02, Buffer.from([value]));
const ecdsaWithSha256 = sequence(objectId("2a8648ce3d040302"));
const commonName = (name: string) => sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from(name)))));
const time = (date: Date) => der(0x17, Buffer.from(`${date.toISOString().replaceAll(/\D/g, "").slice(2, 14)}Z`));
const extension = (id: string, value: Uint8Array) => sequence(objectId(id), der(0x04, value));
const hostName = (host: string) =>
  isIP(host) ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host));

export type Certified = { name: string; cert: string; key: string; privateKey: KeyObject };

const dayMs = 86_400_000;

/**
 * Makes a certificate and its key, in PEM.
 * @param settings.hosts host names and IPv4 addresses
 * @param settings.validDays the days from now until the certificate expires; a negative number for an expired
 * certificate
 * @param settings.issuer the CA that signs the certificate. By default it is self-signed, and can sign others.
 */
export function makeCertificate(settings: {
  name: string;
  hosts?: string[];
  validDays?: number;
  issuer?: Certified;
}): Certified {
  const { name, hosts = [], validDays = 1, issuer } = settings;
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const extensions = [
    ...(issuer ? [] : [extension("551d13", sequence(der(0x01, Buffer.from([0xff]))))]),
    ...(hosts.length > 0 ? [extension("551d11", sequence(...hosts.map(hostName)))] : []),
  ];
  const statement = sequence(
    der(0xa0, integer(2)),
    integer(issuer ? 2 : 1),
    ecdsaWithSha256,
    commonName(issuer?.name ?? name),
    sequence(time(new Date(Date.now() - 100 * dayMs)), time(new Date(Date.now() + validDays * dayMs))),
    commonName(name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", statement, issuer?.privateKey ?? privateKey);
  const whole = sequence(statement, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const base64 = whole.toString("base64").replaceAll(/(.{64})/g, "$1\n");
  return {
    name,
    cert: `-----BEGIN CERTIFICATE-----\n${base64.trim()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    privateKey,
  };
}
