import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { dnsLookup, hostsLookup } from "./lookup.ts";

/** The data of a name's records, in hexadecimal. */
type Records = { A?: string; AAAA?: string };
let server: Socket | undefined;
let questions: string[] = [];

afterEach(() => {
  server?.close();
  server = undefined;
  questions = [];
});

/** The bytes of the name `merchant.example` in DNS: labels, each preceded by its length. */
const NAME = Buffer.from("\u0008merchant\u0007example\0");

/** Starts a name server on loopback (RFC 1035 §4), which knows one name, and returns a look-up that asks it. */
async function lookupAt(records: Records) {
  server = createSocket("udp4");
  server.on("message", (query, from) => {
    const end = 12 + NAME.length;
    const type = query.readUInt16BE(end) === 1 ? "A" : "AAAA";
    questions.push(query.subarray(12, end).equals(NAME) ? type : "another name");
    const data = Buffer.from(records[type] ?? "", "hex");
    const isKnown = data.length > 0;
    const header = [query[0]!, query[1]!, 0x81, 0x80, 0, 1, 0, isKnown ? 1 : 0, 0, 0, 0, 0];
    const record = [0xc0, 12, 0, type === "A" ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length, ...data];
    const response = [...header, ...query.subarray(12, end + 4), ...(isKnown ? record : [])];
    server?.send(Buffer.from(response), from.port, from.address);
  });
  await once(server.bind(0, "127.0.0.1"), "listening");
  return dnsLookup([`127.0.0.1:${server.address().port}`]);
}

const A = "0a010203";
const AAAA = "20010db8000000000000000000000001";
test.each<[has: string, records: Records, expected: string[]]>([
  ["both families", { A, AAAA }, ["10.1.2.3", "2001:db8::1"]],
  ["IPv4 only", { A }, ["10.1.2.3"]],
  ["IPv6 only", { AAAA }, ["2001:db8::1"]],
])("a name that has %s gives all of its addresses", async (_, records, expected) => {
  const lookup = await lookupAt(records);
  expect(await lookup("merchant.example")).toEqual(expected);
  expect(questions.toSorted()).toEqual(["A", "AAAA"]);
});

test("a name without addresses rejects with a code; localhost is never queried in DNS", async () => {
  const lookup = await lookupAt({});
  await expect(lookup("merchant.example")).rejects.toMatchObject({ code: "ENODATA" });
  questions = [];
  for (const name of ["localhost", "LOCALHOST.", "a.localhost"])
    expect(await lookup(name)).toEqual(["127.0.0.1", "::1"]);
  expect(questions).toEqual([]);
});

describe("the hosts file", () => {
  const folder = mkdtempSync(join(tmpdir(), "hosts-"));
  const file = join(folder, "hosts");
  const lookup = hostsLookup(async (name) => [`dns:${name}`], file);
  afterAll(() => rmSync(folder, { recursive: true }));

  test("is read again when it changes; all other names are resolved through DNS", async () => {
    expect(await lookup("receiver.test")).toEqual(["dns:receiver.test"]);
    writeFileSync(file, "# local\n10.0.0.7\treceiver.test Other # comment\n::7 receiver.test\nnot-an-address x.test\n");
    expect(await lookup("RECEIVER.test.")).toEqual(["10.0.0.7", "::7"]);
    expect(await lookup("other")).toEqual(["10.0.0.7"]);
    expect(await lookup("x.test")).toEqual(["dns:x.test"]);
  });

  test("never uses the system's resolver, in which slow names would delay all others", async () => {
    writeFileSync(file, "10.0.0.7 receiver.test\n");
    const unresponsive = hostsLookup(() => new Promise(() => undefined), file);
    for (let count = 0; count < 2_000; count += 1) void unresponsive(`unknown-${count}.test`);
    expect(await unresponsive("receiver.test")).toEqual(["10.0.0.7"]);
  });
});
