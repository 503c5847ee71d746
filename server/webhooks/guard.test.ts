import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, expect, test } from "vitest";
import { createConnections } from "./connections.ts";
import { neverReachable, parseTarget, specialRange } from "./guard.ts";
import { createSender } from "./send.ts";

/** Listens on every address of the machine, records the address of each connection, and closes it. */
const visits: string[] = [];
const trap = createServer((socket) => {
  visits.push(socket.localAddress?.replace("::ffff:", "") ?? "unknown");
  socket.destroy();
});
await once(trap.listen(0), "listening");
const { port } = trap.address() as AddressInfo;
afterAll(() => trap.close());

/**
 * Returns the connections accepted so far. Connections are accepted in order, so when another connection is accepted,
 * all earlier connections have been accepted.
 */
async function visitsSoFar(): Promise<string[]> {
  const knock = connect(port, "127.0.0.1");
  await once(knock.resume(), "close");
  return visits.splice(0).slice(0, -1);
}

const PUBLIC = "1.1.1.1";
/** Responses of a hostile merchant's DNS. */
const NAMES: Record<string, string[]> = {
  "loopback.example": ["127.0.0.1"],
  "loopback6.example": ["::1"],
  "private.example": ["10.0.0.5"],
  "metadata.example": ["169.254.169.254"],
  "public-then-private.example": [PUBLIC, "192.168.1.1"],
  "private-then-public.example": ["192.168.1.1", PUBLIC],
  "public4-loopback6.example": [PUBLIC, "::1"],
  "mapped.example": ["::ffff:127.0.0.1"],
  "mapped-in-hex.example": ["::ffff:7f00:1"],
  "zone.example": ["fe80::1%eth0"],
  "odd-zone.example": ["fe80::1%eth0.100"],
  "octal.example": ["0177.0.0.1"],
  "garbage.example": ["not an address"],
  "trailing.example.": ["127.0.0.1"],
  localhost: ["127.0.0.1", "::1"],
  "localhost.": ["127.0.0.1"],
};

const words = (text: string) => text.trim().split(/\s+/);
/** Hosts as they are written in URLs, by the reason of the refusal. */
const HOSTILE: Record<string, string[]> = {
  "not public (loopback)": words(`
    127.0.0.1 127.0.0.2 127.255.255.254 127.0.0.1. 127.1 127.0.1 2130706433 0x7f000001 0x7F.0x0.0x0.0x1 0x7f.1
    017700000001 0177.0.0.1 0000177.0.0.01 %31%32%37.0.0.1 127%2e0%2E0.1 127.0.0.1%2e １２７.０.０.１ ①②⑦.0.0.①
    127。0．0｡1 localhost LOCALHOST localhost. ⓛocalhost [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0.0.0.1]
    loopback.example loopback6.example public4-loopback6.example trailing.example.
  `).concat("1\t27.0.\n0.1"),
  "not public (unspecified)": words("0 0.0.0.0 0x0 0.1.2.3 [::]"),
  "not public (private)": words(`
    10.0.0.1 10.255.255.255 012.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 3232235521
    private.example public-then-private.example private-then-public.example
  `),
  "not public (linkLocal)": words(`
    169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 [fe80::1] [febf::1] metadata.example zone.example
  `),
  "not public (carrierGradeNat)": words("100.64.0.1 100.100.100.200"),
  "not public (cloud platform)": ["168.63.129.16"],
  "not public (reserved)": words(`
    192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1 240.0.0.1 [2001:db8::1] [3fff::1]
  `),
  "not public (multicast)": words("224.0.0.1 239.255.255.250 [ff02::1]"),
  "not public (broadcast)": words("255.255.255.255 4294967295"),
  "not public (ipv4Mapped)": words(`
    [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:FFFF:127.0.0.1] [::ffff:169.254.169.254] [::ffff:1.1.1.1]
    mapped.example mapped-in-hex.example
  `),
  "not public (rfc6145)": ["[::ffff:0:127.0.0.1]"],
  "not public (rfc6052)": words("[64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1]"),
  "not public (6to4)": words("[2002:7f00:1::] [2002:a9fe:a9fe::1]"),
  "not public (teredo)": ["[2001:0:1:1::80ff:fffe]"],
  "not public (uniqueLocal)": words("[fc00::1] [fd00:ec2::254]"),
  "not public (outside the public IPv6 range)": words("[::127.0.0.1] [4000::1]"),
  "not public (as112)": ["192.31.196.1"],
  "not public (amt)": ["192.52.193.1"],
  "not public (deprecatedSiteLocal)": ["[fec0::1]"],
  "not public (discard)": ["[100::1]"],
  "not public (benchmarking)": ["[2001:2::1]"],
  "not public (deprecatedOrchid)": ["[2001:10::1]"],
  "not public (segmentRouting)": ["[5f00::1]"],
  "not public (no IP address)": words("odd-zone.example octal.example garbage.example"),
  "has no IP address": ["empty.example"],
  "URL is not valid": words(`
    [::1%25lo] [fe80::1%eth0] 127.0.0.1%00.public.example 256.0.0.1 127.0.0.1.5 99999999999
  `).concat("1.1.1.1 127.0.0.1", ""),
  "contains a user name or password": words(`
    user:hunter2@127.0.0.1 hunter2@localhost :hunter2@1.1.1.1 1.1.1.1:80@127.0.0.1
  `),
};

const NO_PUBLIC_ADDRESS = "Refused: the receiver's name does not lead to a public address.";

/** Sends a webhook. `detail` is what only the operator reads, and `visited` the addresses that were connected to. */
async function attempt(url: string, { allowPrivate = false, names = NAMES } = {}) {
  let detail: string | undefined;
  const sender = createSender({
    allowPrivate,
    allowInsecure: true,
    lookup: async (name) => names[name] ?? [],
    now: () => 0,
    timeoutMs: 5_000,
    onRefusal: (_id, said) => (detail = said),
  });
  const outcome = await sender.send({ url, id: "msg_1", secrets: [`whsec_${"A".repeat(43)}=`], body: "{}" });
  await sender.close();
  return { ...outcome, detail, visited: await visitsSoFar() };
}

test.each(Object.entries(HOSTILE).flatMap(([reason, hosts]) => hosts.map((host) => ({ host, reason }))))(
  "the host $host is refused: $reason",
  async ({ host, reason }) => {
    for (const scheme of ["http", "https"]) {
      const { error, detail, httpStatus, visited } = await attempt(`${scheme}://${host}:${port}/hook`);
      expect(error).toMatch(detail === undefined ? /^Refused: / : NO_PUBLIC_ADDRESS);
      expect(detail ?? error).toContain(reason);
      expect(error).not.toContain("hunter2");
      expect([httpStatus, visited]).toEqual([undefined, []]);
    }
  },
);

test("the reason shows a literal address; for a name it is the same whether the name exists or not", async () => {
  const advice = "webhooks are sent to public addresses only, unless WEBHOOK_ALLOW_PRIVATE=true.";
  expect(await attempt("http://0x7f.1/")).toMatchObject({
    error: `Refused: 127.0.0.1 is not public (loopback); ${advice}`,
    detail: undefined,
  });
  for (const [name, detail] of [
    ["private.example", `private.example resolves to 10.0.0.5, which is not public (private); ${advice}`],
    ["unknown.example", "unknown.example has no IP address"],
  ])
    expect(await attempt(`http://${name}/`)).toMatchObject({ error: NO_PUBLIC_ADDRESS, detail });
});

test.each([
  ["file:///etc/passwd", "http and https URLs only, not file:"],
  ["javascript:alert(1)", "http and https URLs only, not javascript:"],
  ["unix:/var/run/docker.sock", "http and https URLs only, not unix:"],
  ["http://user:hunter2@127.0.0.1/", "contains a user name or password. Remove them."],
])("%s is refused even if private addresses and insecure receivers are allowed", (url, why) => {
  expect(() => parseTarget(url, true)).toThrow(/^Refused: /);
  expect(() => parseTarget(url, true)).toThrow(why);
});

test.each([
  ["http://1.1.1.1/", "https URLs only"],
  ["https://1.1.1.1:1023/", "port 443 and to ports from 1024"],
  ["https://1.1.1.1/", undefined],
  ["https://1.1.1.1:1024/", undefined],
])("%s is refused unless insecure receivers are allowed: %s", (url, why) => {
  expect(parseTarget(url, true).href).toBe(url);
  if (why === undefined) expect(parseTarget(url, false).href).toBe(url);
  else expect(() => parseTarget(url, false)).toThrow(`${why}, unless WEBHOOK_ALLOW_INSECURE=true.`);
});

/** Addresses at which clouds serve credentials, and IPv6 addresses that lead to such addresses, as hosts of URLs. */
const NEVER = words(`
  169.254.169.254 0xa9fea9fe 169.254.170.2 168.63.129.16 0xa83f8110 100.100.100.200 0x64.100.25800 192.0.0.192
  [fe80::1] [fd00:ec2::254] [fd00:0ec2:0:0::254] [fd00:ec2::23] [fd20:ce::254] [fe80::5efe:a9fe:a9fe]
  [::ffff:a9fe:a9fe] [::a9fe:a9fe] [::ffff:0:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [64:ff9b:1::a9fe:a9fe]
  [2002:a9fe:a9fe::1] [2001:0:a9fe:a9fe::1] [2001:0:102:304::5601:5601]
  [fd12:3456:789a::a9fe:a9fe] [2a00:1450:4001::a83f:8110]
`);

test.each(NEVER)("%s is refused even if private addresses are allowed", async (host) => {
  const address = new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, "");
  const names = { "platform.example": [PUBLIC, address] };
  for (const url of [`http://${host}:${port}/latest/meta-data`, "https://platform.example/"]) {
    const { error, visited } = await attempt(url, { allowPrivate: true, names });
    expect(error).toMatch(/^Refused: .+ not public \(.+\); webhooks are never sent there\.$/);
    expect(visited).toEqual([]);
  }
});

const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
test.each([
  ...words("127.0.0.1 0x7f.1 loopback.example localhost"),
  ...(hasIPv6 ? words("[::1] loopback6.example") : []),
])("%s is reached if private addresses are allowed", async (host) => {
  expect((await attempt(`http://${host}:${port}/`, { allowPrivate: true })).visited).toHaveLength(1);
});

test.each(
  words("10.0.0.5 127.0.0.1 100.100.100.201 fd12:3456:789a::1 fd12:3456:a9fe::1 fd20:cf::254 2a00:1450:a9fe:1::1 ::1"),
)("%s is reachable if private addresses are allowed", (address) => expect(neverReachable(address)).toBeUndefined());

test.each(
  words(`
    1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0
    2606:4700:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888 2003::1
  `),
)("%s is public", (address) => expect(specialRange(address)).toBeUndefined());

const CONNECTED = /socket hang up|ECONNRESET/;
const REFUSED = /^Refused: /;
/** Each connection asks the DNS once, and gets the next of its responses. */
test.each([
  ["checks the next connection again", [["127.0.0.1"], ["169.254.169.254"]], [CONNECTED, REFUSED], ["127.0.0.1"]],
  ["refuses a mixed response", [["127.0.0.1", "169.254.169.254"]], [REFUSED], []],
  ["refuses it in the other order", [["169.254.169.254", "127.0.0.1"]], [REFUSED], []],
])("rebinding: %s", async (_, responses, outcomes, addresses) => {
  const asked: string[] = [];
  const connections = createConnections({
    lookup: async (name) => responses[asked.push(name) - 1] ?? [],
    allowPrivate: true,
  });
  const request = { headers: {}, body: "", signal: new AbortController().signal };
  for (const outcome of outcomes)
    await expect(connections.post(new URL(`http://rebind.example:${port}/`), request)).rejects.toThrow(outcome);
  connections.close();
  expect([asked.length, await visitsSoFar()]).toEqual([outcomes.length, addresses]);
});
