import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { readTls } from "./tls.ts";

const own = makeCertificate({ name: "own" });
const other = makeCertificate({ name: "other" });
const expired = makeCertificate({ name: "expired", validDays: -1 });
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const files: Record<string, string> = {
  "own.pem": own.cert,
  "own.key": own.key,
  "chain.pem": `a comment\n${own.cert}${other.cert}`,
  "other.key": other.key,
  "expired.pem": expired.cert,
  "expired.key": expired.key,
  "encrypted.key": privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  }) as string,
  "damaged.pem": own.cert.replace("MII", "AAA").replaceAll(/^M.*$/gm, "AAAA"),
  "empty.pem": "",
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-tls-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(given: Record<string, string>) {
  const faults: string[] = [];
  const paths = Object.fromEntries(Object.entries(given).map(([flag, name]) => [flag, join(folder, name)]));
  return { tls: readTls(paths, new Date(), faults), faults };
}

test("nothing is read without the options", () => {
  expect(read({})).toEqual({ tls: undefined, faults: [] });
});

test("all certificates of a file are read, and the key of the first one", () => {
  const { tls, faults } = read({ ca: "chain.pem", cert: "chain.pem", key: "own.key" });
  expect(faults).toEqual([]);
  expect(tls).toEqual({ ca: own.cert + other.cert, cert: own.cert + other.cert, key: own.key });
});

test.each([
  ["a missing file", { ca: "nothing.pem" }, "--ca: cannot read"],
  ["an empty file", { ca: "empty.pem" }, "it contains no certificate in PEM"],
  ["a private key as certificate", { ca: "own.key" }, "it contains a private key"],
  ["a damaged certificate", { ca: "damaged.pem" }, "contains a damaged certificate"],
  ["a certificate without its key", { cert: "own.pem" }, "--cert needs --key"],
  ["a key without its certificate", { key: "own.key" }, "--key needs --cert"],
  ["the key of another certificate", { cert: "own.pem", key: "other.key" }, "--key does not belong to the certificate"],
  ["a certificate as key", { cert: "own.pem", key: "own.pem" }, "own.pem is not a private key in PEM"],
  ["an encrypted key", { cert: "own.pem", key: "encrypted.key" }, "is encrypted: decrypt it with openssl pkey"],
  ["an expired client certificate", { cert: "expired.pem", key: "expired.key" }, "--cert expired on 2"],
])("%s is refused", (_, given, message) => {
  const { faults } = read(given as Record<string, string>);
  expect(faults).toEqual([expect.stringContaining(message)]);
});
