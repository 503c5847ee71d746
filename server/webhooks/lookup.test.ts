import { createSocket } from "node:dgram";
import type { Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { dnsLookup, hostsLookup } from "./lookup.ts";

type Answers = { A?: string; AAAA?: Buffer };
let server: Socket | undefined;
let questions: string[] = [];

afterEach(() => {
  server?.close();
  server = undefined;
  questions = [];
});

/** Decodes a DNS name: labels, each preceded by its length. */
function nameIn(bytes: Buffer): string {
  if (bytes.length === 0) return "";
  const [length = 0, ...rest] = bytes;
  const label = Buffer.from(rest.slice(0, length)).toString("latin1");
  return [label, nameIn(Buffer.from(rest.slice(length)))].filter(Boolean).join(".");
}

/** A name server on loopback (RFC 1035 §4) with at most one record of each type. */
async function nameServer(answers: Answers): Promise<string> {
  server = createSocket("udp4");
  server.on("message", (query, from) => {
    const end = query.indexOf(0, 12);
    const name = nameIn(query.subarray(12, end));
    const type = query.readUInt16BE(end + 1) === 1 ? "A" : "AAAA";
    questions.push(`${name} ${type}`);
    const data = type === "A" ? answers.A && Buffer.from(answers.A.split(".").map(Number)) : answers.AAAA;
    const header = Buffer.from([query[0]!, query[1]!, 0x81, 0x80, 0, 1, 0, data ? 1 : 0, 0, 0, 0, 0]);
    const question = query.subarray(12, end + 5);
    const record = data
      ? Buffer.concat([Buffer.from([0xc0, 12, 0, type === "A" ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length]), data])
      : Buffer.alloc(0);
    server?.send(Buffer.concat([header, question, record]), from.port, from.address);
  });
  await once(server.bind(0, "127.0.0.1"), "listening");
  return `127.0.0.1:${server.address().port}`;
}

const IPV6 = Buffer.from("20010db8000000000000000000000001", "hex");

test.each<{ has: string; answers: Answers; expected: string[] }>([
  { has: "both families", answers: { A: "10.1.2.3", AAAA: IPV6 }, expected: ["10.1.2.3", "2001:db8::1"] },
  { has: "IPv4 only", answers: { A: "10.1.2.3" }, expected: ["10.1.2.3"] },
  { has: "IPv6 only", answers: { AAAA: IPV6 }, expected: ["2001:db8::1"] },
])("a name that has $has gives all of its addresses", async ({ answers, expected }) => {
  const lookup = dnsLookup([await nameServer(answers)]);
  expect(await lookup("merchant.example")).toEqual(expected);
  expect(questions.toSorted()).toEqual(["merchant.example A", "merchant.example AAAA"]);
});

test("rejects with a code for a name without addresses", async () => {
  const lookup = dnsLookup([await nameServer({})]);
  await expect(lookup("merchant.example")).rejects.toMatchObject({ code: "ENODATA" });
});

test.each(["localhost", "LOCALHOST.", "a.localhost"])("%s is loopback and is never queried in DNS", async (name) => {
  const lookup = dnsLookup([await nameServer({ A: "10.1.2.3" })]);
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
