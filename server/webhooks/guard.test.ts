import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neverReachable, parseTarget, specialRange } from "./guard.ts";
import { createConnections } from "./connections.ts";
import { createSender } from "./send.ts";

/** Listens on every address of the machine, records the address of each connection, and closes it. */
let trap: Server;
let port: number;
let visits: string[] = [];

beforeAll(async () => {
  trap = createServer((socket) => {
    visits.push(socket.localAddress?.replace("::ffff:", "") ?? "unknown");
    socket.destroy();
  });
  await once(trap.listen(0), "listening");
  ({ port } = trap.address() as AddressInfo);
});
afterAll(() => trap.close());

/**
 * Returns the connections accepted so far. Connections are accepted in order, so when another connection is accepted,
 * all earlier connections have been accepted.
 */
async function visitsSoFar(): Promise<string[]> {
  const knock = connect(port, "127.0.0.1");
  await once(knock.resume(), "close");
  return visits.slice(0, -1);
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
  "empty.example": [],
  "trailing.example.": ["127.0.0.1"],
  localhost: ["127.0.0.1", "::1"],
  "localhost.": ["127.0.0.1"],
};

const LOOPBACK = "a loopback address";
const MAPPED = "an IPv4-mapped IPv6 address";

/** The host as written in the URL, and the reason shown to the merchant. */
const HOSTILE: [host: string, reason: string][] = [
  ["127.0.0.1", LOOPBACK],
  ["127.0.0.2", LOOPBACK],
  ["127.255.255.254", LOOPBACK],
  ["127.0.0.1.", LOOPBACK],
  ["127.1", LOOPBACK],
  ["127.0.1", LOOPBACK],
  ["2130706433", LOOPBACK],
  ["0x7f000001", LOOPBACK],
  ["0x7F.0x0.0x0.0x1", LOOPBACK],
  ["0x7f.1", LOOPBACK],
  ["017700000001", LOOPBACK],
  ["0177.0.0.1", LOOPBACK],
  ["0000177.0.0.01", LOOPBACK],
  ["%31%32%37.0.0.1", LOOPBACK],
  ["127%2e0%2E0.1", LOOPBACK],
  ["127.0.0.1%2e", LOOPBACK],
  ["１２７.０.０.１", LOOPBACK],
  ["①②⑦.0.0.①", LOOPBACK],
  ["127。0．0｡1", LOOPBACK],
  ["1\t27.0.\n0.1", LOOPBACK],
  ["localhost", LOOPBACK],
  ["LOCALHOST", LOOPBACK],
  ["localhost.", LOOPBACK],
  ["ⓛocalhost", LOOPBACK],
  ["0", "an unspecified address"],
  ["0.0.0.0", "an unspecified address"],
  ["0x0", "an unspecified address"],
  ["0.1.2.3", "an unspecified address"],
  ["10.0.0.1", "a private address"],
  ["10.255.255.255", "a private address"],
  ["012.0.0.1", "a private address"],
  ["172.16.0.1", "a private address"],
  ["172.31.255.255", "a private address"],
  ["192.168.0.1", "a private address"],
  ["3232235521", "a private address"],
  ["169.254.169.254", "a link-local address"],
  ["0xa9fea9fe", "a link-local address"],
  ["2852039166", "a link-local address"],
  ["0251.0376.0251.0376", "a link-local address"],
  ["100.64.0.1", "a carrier-grade NAT address"],
  ["100.100.100.200", "a carrier-grade NAT address"],
  ["168.63.129.16", "a cloud platform address"],
  ["192.0.0.192", "a reserved address"],
  ["192.0.2.1", "a reserved address"],
  ["192.88.99.1", "a reserved address"],
  ["198.18.0.1", "a reserved address"],
  ["198.51.100.1", "a reserved address"],
  ["203.0.113.1", "a reserved address"],
  ["240.0.0.1", "a reserved address"],
  ["192.31.196.1", "in a special-purpose range (as112)"],
  ["192.52.193.1", "in a special-purpose range (amt)"],
  ["224.0.0.1", "a multicast address"],
  ["239.255.255.250", "a multicast address"],
  ["255.255.255.255", "the broadcast address"],
  ["4294967295", "the broadcast address"],
  ["[::1]", LOOPBACK],
  ["[0:0:0:0:0:0:0:1]", LOOPBACK],
  ["[0000::0001]", LOOPBACK],
  ["[::0.0.0.1]", LOOPBACK],
  ["[::]", "an unspecified address"],
  ["[::ffff:127.0.0.1]", MAPPED],
  ["[::ffff:7f00:1]", MAPPED],
  ["[0:0:0:0:0:FFFF:127.0.0.1]", MAPPED],
  ["[::ffff:169.254.169.254]", MAPPED],
  ["[::ffff:1.1.1.1]", MAPPED],
  ["[::127.0.0.1]", "outside the public IPv6 range"],
  ["[::ffff:0:127.0.0.1]", "an IPv4-translated IPv6 address"],
  ["[64:ff9b::127.0.0.1]", "a NAT64 address"],
  ["[64:ff9b::a9fe:a9fe]", "a NAT64 address"],
  ["[64:ff9b:1::7f00:1]", "a NAT64 address"],
  ["[2002:7f00:1::]", "a 6to4 address"],
  ["[2002:a9fe:a9fe::1]", "a 6to4 address"],
  ["[2001:0:1:1::80ff:fffe]", "a Teredo address"],
  ["[fe80::1]", "a link-local address"],
  ["[febf::1]", "a link-local address"],
  ["[fec0::1]", "in a special-purpose range (deprecatedSiteLocal)"],
  ["[fc00::1]", "a private (unique local) address"],
  ["[fd00:ec2::254]", "a private (unique local) address"],
  ["[ff02::1]", "a multicast address"],
  ["[100::1]", "in a special-purpose range (discard)"],
  ["[2001:db8::1]", "a reserved address"],
  ["[3fff::1]", "a reserved address"],
  ["[2001:2::1]", "in a special-purpose range (benchmarking)"],
  ["[2001:10::1]", "in a special-purpose range (deprecatedOrchid)"],
  ["[5f00::1]", "in a special-purpose range (segmentRouting)"],
  ["[4000::1]", "outside the public IPv6 range"],
  ["loopback.example", LOOPBACK],
  ["loopback6.example", LOOPBACK],
  ["private.example", "a private address"],
  ["metadata.example", "a link-local address"],
  ["public-then-private.example", "a private address"],
  ["private-then-public.example", "a private address"],
  ["public4-loopback6.example", LOOPBACK],
  ["mapped.example", MAPPED],
  ["mapped-in-hex.example", MAPPED],
  ["zone.example", "a link-local address"],
  ["odd-zone.example", "not an IP address"],
  ["octal.example", "not an IP address"],
  ["garbage.example", "not an IP address"],
  ["empty.example", "has no IP address"],
  ["trailing.example.", LOOPBACK],
  ["[::1%25lo]", "URL is not valid"],
  ["[fe80::1%eth0]", "URL is not valid"],
  ["127.0.0.1%00.public.example", "URL is not valid"],
  ["256.0.0.1", "URL is not valid"],
  ["127.0.0.1.5", "URL is not valid"],
  ["99999999999", "URL is not valid"],
  ["1.1.1.1 127.0.0.1", "URL is not valid"],
  ["user:hunter2@127.0.0.1", "contains a user name or password"],
  ["hunter2@localhost", "contains a user name or password"],
  [":hunter2@1.1.1.1", "contains a user name or password"],
  ["1.1.1.1:80@127.0.0.1", "contains a user name or password"],
  ["", "URL is not valid"],
];

/** What the senders reported to the operator. */
let details: string[] = [];
const NO_PUBLIC_ADDRESS = "Refused: the receiver's name does not lead to a public address.";

function senderTo(names: Record<string, string[]>, allowPrivate = false) {
  return createSender({
    allowPrivate,
    allowInsecure: true,
    lookup: async (name) => names[name] ?? [],
    now: () => 0,
    timeoutMs: 5_000,
    onRefusal: (_id, detail) => void details.push(detail),
  });
}

function messageTo(url: string) {
  return { url, id: "msg_1", secrets: [`whsec_${"A".repeat(43)}=`], body: "{}" };
}

describe("hostile addresses", () => {
  test("the list contains at least 60", () => {
    expect(new Set(HOSTILE.map(([host]) => host)).size).toBeGreaterThanOrEqual(60);
  });

  test.each(HOSTILE.flatMap(([host, reason]) => ["http", "https"].map((scheme) => ({ scheme, host, reason }))))(
    "$scheme://$host/ is refused: $reason",
    async ({ scheme, host, reason }) => {
      visits = [];
      details = [];
      const sender = senderTo(NAMES);
      const outcome = await sender.send(messageTo(`${scheme}://${host}:${port}/hook`));
      await sender.close();
      expect(outcome.error).toMatch(/^Refused: /);
      if (details.length > 0) expect(outcome.error).toBe(NO_PUBLIC_ADDRESS);
      expect(details[0] ?? outcome.error).toContain(reason);
      expect(outcome.error).not.toContain("hunter2");
      expect(outcome).not.toHaveProperty("httpStatus");
      expect(await visitsSoFar()).toEqual([]);
    },
  );

  test.each([
    "file:///etc/passwd",
    "ftp://1.1.1.1/",
    "gopher://127.0.0.1:70/_x",
    "javascript:alert(1)",
    "data:text/plain,x",
    "unix:/var/run/docker.sock",
    "ws://1.1.1.1/",
  ])("%s is refused for its scheme, even if private addresses are allowed", async (url) => {
    for (const allowPrivate of [false, true]) {
      const sender = senderTo(NAMES, allowPrivate);
      const { error } = await sender.send(messageTo(url));
      await sender.close();
      expect(error).toMatch(/^Refused: webhooks are sent to http and https URLs only, not [a-z]+:$/);
    }
  });

  test("a password is refused even if private addresses are allowed", async () => {
    const sender = senderTo(NAMES, true);
    const { error } = await sender.send(messageTo(`http://user:hunter2@127.0.0.1:${port}/`));
    await sender.close();
    expect(error).toBe("Refused: the webhook URL contains a user name or password. Remove them.");
  });

  const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
  const reachable = ["127.0.0.1", "0x7f.1", "loopback.example", "localhost"];
  const reachableByIPv6 = ["[::1]", "[::ffff:127.0.0.1]", "loopback6.example"];

  test.each([...reachable, ...(hasIPv6 ? reachableByIPv6 : [])])(
    "%s reaches the listening socket if private addresses are allowed",
    async (host) => {
      visits = [];
      const sender = senderTo(NAMES, true);
      await sender.send(messageTo(`http://${host}:${port}/hook`));
      await sender.close();
      expect(await visitsSoFar()).toHaveLength(1);
    },
  );
});

test.each(["169.254.169.254", "0xa9fea9fe", "[fe80::1]", "[::ffff:169.254.169.254]", "metadata.example"])(
  "%s is link-local and refused even if private addresses are allowed",
  async (host) => {
    visits = [];
    const sender = senderTo(NAMES, true);
    const { error } = await sender.send(messageTo(`http://${host}:${port}/hook`));
    await sender.close();
    expect(error).toMatch(/^Refused: .+ a link-local address; webhooks are never sent to one\.$/);
    expect(await visitsSoFar()).toEqual([]);
  },
);

const inverted = (part: string) => (0xffff - Number.parseInt(part, 16)).toString(16);

/** Addresses at which clouds serve credentials, written as a host, with the reason that is shown. */
const PLATFORMS = [
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "168.63.129.16",
  "0xa83f8110",
  "100.100.100.200",
  "0x64.100.25800",
  "192.0.0.192",
  "[fd00:ec2::254]",
  "[fd00:0ec2:0:0::254]",
  "[fd00:ec2::23]",
  "[fd20:ce::254]",
  ...["a9fe:a9fe", "a83f:8110", "6464:64c8"].flatMap((hex) => {
    const [high, low] = hex.split(":") as [string, string];
    return [
      `[::ffff:${hex}]`,
      `[::${hex}]`,
      `[::ffff:0:${hex}]`,
      `[64:ff9b::${hex}]`,
      `[64:ff9b:1::${hex}]`,
      `[64:ff9b:1:${high}:${low.slice(0, 2)}:${low.slice(2)}00::]`,
      `[2002:${hex}::1]`,
      `[2001:0:${hex}::1]`,
      `[2001:0:102:304::${inverted(high)}:${inverted(low)}]`,
      `[fe80::5efe:${hex}]`,
      `[2a00:1450::5efe:${hex}]`,
      `[fd12:3456:789a::${hex}]`,
    ];
  }),
];

describe("the addresses of cloud platforms", () => {
  test.each(PLATFORMS)("%s is refused even if private addresses are allowed", async (host) => {
    const { hostname } = new URL(`http://${host}/`);
    const address = hostname.replace(/^\[|\]$/g, "");
    const sender = senderTo({ "platform.example": [PUBLIC, address] }, true);
    const literal = await sender.send(messageTo(`http://${host}/latest/meta-data`));
    const named = await sender.send(messageTo("https://platform.example/"));
    await sender.close();
    for (const { error } of [literal, named]) {
      expect(error).toMatch(/^Refused: .+ a (link-local|cloud platform) address; webhooks are never sent to one\.$/);
    }
  });

  test.each([
    "10.0.0.5",
    "127.0.0.1",
    "100.100.100.201",
    "fd12:3456:789a::1",
    "fd12:3456:a9fe::1",
    "fd20:cf::254",
    "2a00:1450:a9fe:1::1",
    "::1",
    "::ffff:10.0.0.5",
  ])("%s is reachable if private addresses are allowed", (address) => {
    expect(neverReachable(address)).toBeUndefined();
  });

  test("a redirect to one is not followed", async () => {
    const location = "http://169.254.169.254/latest/meta-data";
    const elsewhere = createHttpServer((_request, response) => void response.writeHead(302, { location }).end());
    await once(elsewhere.listen(0, "127.0.0.1"), "listening");
    const sender = senderTo({}, true);
    const outcome = await sender.send(messageTo(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`));
    await sender.close();
    elsewhere.close();
    expect(outcome).toMatchObject({ httpStatus: 302, error: "The receiver returned 302; redirects are not followed." });
  });
});

test.each([
  ["http://1.1.1.1/", "webhooks are sent to https URLs only, unless WEBHOOK_ALLOW_INSECURE=true."],
  ["https://1.1.1.1:25/", "webhooks are sent to port 443 and to ports from 1024, unless WEBHOOK_ALLOW_INSECURE=true."],
  [
    "https://1.1.1.1:1023/",
    "webhooks are sent to port 443 and to ports from 1024, unless WEBHOOK_ALLOW_INSECURE=true.",
  ],
])("%s is refused unless insecure receivers are allowed", (url, why) => {
  expect(() => parseTarget(url, false)).toThrow(`Refused: ${why}`);
  expect(parseTarget(url, true).href).toBe(url);
});

test.each(["https://1.1.1.1/", "https://1.1.1.1:443/", "https://1.1.1.1:1024/", "https://1.1.1.1:8443/"])(
  "%s is allowed always",
  (url) => {
    expect(parseTarget(url, false).hostname).toBe("1.1.1.1");
  },
);

test("the reason shows a literal address; for a name it is the same whether the name exists or not", async () => {
  const sender = senderTo(NAMES);
  const written = await sender.send(messageTo("http://0x7f.1/"));
  details = [];
  const named = await sender.send(messageTo("http://private.example/"));
  const unknown = await sender.send(messageTo("http://unknown.example/"));
  await sender.close();
  const advice = "webhooks are sent to public addresses only, unless WEBHOOK_ALLOW_PRIVATE=true.";
  expect(written.error).toBe(`Refused: 127.0.0.1 is a loopback address; ${advice}`);
  expect([named.error, unknown.error]).toEqual([NO_PUBLIC_ADDRESS, NO_PUBLIC_ADDRESS]);
  expect(details).toEqual([
    "private.example resolves to 10.0.0.5, a private address",
    "unknown.example has no IP address",
  ]);
});

test.each(["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0"])(
  "%s is public",
  (address) => {
    expect(specialRange(address)).toBeUndefined();
  },
);

test.each(["2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2003::1"])(
  "%s is public",
  (address) => {
    expect(specialRange(address)).toBeUndefined();
  },
);

function visitorWith(dnsResponses: string[][]) {
  const asked: string[] = [];
  const connections = createConnections({
    lookup: async (name) => dnsResponses[asked.push(name) - 1] ?? [],
    // In this test 127.0.0.1 counts as public, and every other address is forbidden.
    forbidden: (address) => (address === "127.0.0.1" ? undefined : LOOPBACK),
    discreet: true,
  });
  visits = [];
  const { signal } = new AbortController();
  const visit = () =>
    connections.post(new URL(`http://rebind.example:${port}/`), {
      headers: {},
      body: "",
      signal,
      onInformation: () => undefined,
    });
  return { connections, asked, visit };
}

describe("rebinding", () => {
  test("connects to the checked address and resolves the name once", async () => {
    const { connections, asked, visit } = visitorWith([["127.0.0.1"], ["::1"]]);
    await expect(visit()).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await visitsSoFar()).toEqual(["127.0.0.1"]);
    expect(asked).toEqual(["rebind.example"]);
    connections.close();
  });

  test("checks the next connection again and refuses an internal address", async () => {
    const { connections, asked, visit } = visitorWith([["127.0.0.1"], ["::1"]]);
    await expect(visit()).rejects.toMatchObject({ code: "ECONNRESET" });
    await expect(visit()).rejects.toThrow("Refused: the receiver's name does not lead to a public address.");
    expect(await visitsSoFar()).toEqual(["127.0.0.1"]);
    expect(asked).toHaveLength(2);
    connections.close();
  });

  test.each([[["127.0.0.1", "::1"]], [["::1", "127.0.0.1"]]])(
    "refuses the mixed DNS response %j",
    async (addresses) => {
      const { connections, visit } = visitorWith([addresses]);
      await expect(visit()).rejects.toThrow("Refused: ");
      expect(await visitsSoFar()).toEqual([]);
      connections.close();
    },
  );
});
