import { createPrivateKey } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { readTls } from "./tls.ts";

const own = await makeCertificate({ name: "own" });
const other = await makeCertificate({ name: "other" });
const expired = await makeCertificate({ name: "expired", validDays: -1 });
const files: Record<string, string> = {
  "own.pem": own.cert,
  "own.key": own.key,
  "chain.pem": `a comment\n${own.cert}${other.cert}`,
  "other.key": other.key,
  "expired.pem": expired.cert,
  "expired.key": expired.key,
  "encrypted.key": String(
    createPrivateKey(own.key).export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
  ),
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-tls-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each<[string, Record<string, string>, faults: string[], read?: object]>([
  ["returns nothing without the options", {}, []],
  [
    "reads all certificates of a file, and the key of the first one",
    { ca: "chain.pem", cert: "chain.pem", key: "own.key" },
    [],
    { ca: own.cert + other.cert, cert: own.cert + other.cert, key: own.key },
  ],
  ["refuses a missing file", { ca: "nothing.pem" }, ["--ca: cannot read"]],
  ["refuses a private key as certificate", { ca: "own.key" }, ["must contain certificates (-----BEGIN"]],
  ["refuses a certificate without its key", { cert: "own.pem" }, ["--cert needs --key"]],
  ["refuses a key without its certificate", { key: "own.key" }, ["--key needs --cert"]],
  [
    "refuses the key of another certificate",
    { cert: "own.pem", key: "other.key" },
    ["--key does not belong to the certificate"],
  ],
  ["refuses an encrypted key", { cert: "own.pem", key: "encrypted.key" }, ["must contain an unencrypted private key"]],
  ["refuses an expired client certificate", { cert: "expired.pem", key: "expired.key" }, ["--cert expired on 2"]],
])("readTls %s", (_, given, expected, result) => {
  const faults: string[] = [];
  const paths = Object.fromEntries(Object.entries(given).map(([flag, name]) => [flag, join(folder, name)]));
  const read = readTls(paths, new Date(), faults);
  expect(faults).toEqual(expected.map((part) => expect.stringContaining(part) as string));
  if (expected.length === 0) expect(read).toEqual(result);
});
