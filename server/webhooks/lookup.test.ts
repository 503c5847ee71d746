import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../testing/resources.ts";
import { dnsLookup, hostsLookup } from "./lookup.ts";

/** A look-up of a name with these addresses in DNS. */
function lookupOf(v4: string[], v6: string[]) {
  const asked: string[] = [];
  const find = (addresses: string[]) => async (name: string) => {
    asked.push(name);
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error("queryA"), { code: "ENODATA" });
  };
  return { lookup: dnsLookup({ resolve4: find(v4), resolve6: find(v6) } as never), asked };
}

test.each([
  ["both families", ["10.1.2.3"], ["2001:db8::1"]],
  ["IPv4 only", ["10.1.2.3"], []],
  ["IPv6 only", [], ["2001:db8::1"]],
])("a name that has %s gives all of its addresses", async (_, v4, v6) => {
  expect(await lookupOf(v4, v6).lookup("merchant.example")).toEqual([...v4, ...v6]);
});

test("a name without addresses rejects with a code; localhost is never queried in DNS", async () => {
  const { lookup, asked } = lookupOf([], []);
  await expect(lookup("merchant.example")).rejects.toMatchObject({ code: "ENODATA" });
  for (const name of ["localhost", "LOCALHOST.", "a.localhost"])
    expect(await lookup(name)).toEqual(["127.0.0.1", "::1"]);
  expect(asked).toEqual(["merchant.example", "merchant.example"]);
});

test("the hosts file is read again when it changes; all other names are resolved through DNS", async () => {
  const file = join(testFolder(), "hosts");
  const lookup = hostsLookup(async (name) => [`dns:${name}`], file);
  expect(await lookup("receiver.test")).toEqual(["dns:receiver.test"]);
  writeFileSync(file, "# local\n10.0.0.7\treceiver.test Other # comment\n::7 receiver.test\nnot-an-address x.test\n");
  expect(await lookup("RECEIVER.test.")).toEqual(["10.0.0.7", "::7"]);
  expect(await lookup("other")).toEqual(["10.0.0.7"]);
  expect(await lookup("x.test")).toEqual(["dns:x.test"]);
});

test("the hosts file never leads to the system's resolver, in which slow names would delay all others", async () => {
  const file = join(testFolder(), "hosts");
  writeFileSync(file, "10.0.0.7 receiver.test\n");
  const unresponsive = hostsLookup(() => new Promise(() => undefined), file);
  for (let count = 0; count < 2_000; count += 1) void unresponsive(`unknown-${count}.test`);
  expect(await unresponsive("receiver.test")).toEqual(["10.0.0.7"]);
});
