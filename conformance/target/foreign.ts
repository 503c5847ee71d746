// Decides to which other origins a link or redirect of the target may lead. The target chooses the links, and could
// otherwise make the suite open internal services that this machine can reach.
import { lookup as dnsLookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import type { HttpFailure, HttpResponse } from "./http.ts";

export type Lookup = (name: string) => Promise<readonly string[]>;

export const systemLookup: Lookup = async (name) =>
  (await dnsLookup(name, { all: true })).map(({ address }) => address);

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

function rangesOf(list: string): BlockList {
  const ranges = new BlockList();
  for (const [net = "", bits] of list.split(" ").map((range) => range.split("/")))
    ranges.addSubnet(net, Number(bits), familyOf(net));
  return ranges;
}

/** Ranges that are not public: IANA's special-purpose address registries, and last Azure's platform service. */
const special = rangesOf(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 " +
    "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 " +
    "168.63.129.16/32",
);
const publicIpv6 = rangesOf("2000::/3");
const loopback = rangesOf("127.0.0.0/8 ::1/128");

const isLoopback = (address: string) => loopback.check(address, familyOf(address));
const isPublic = (address: string) =>
  !special.check(address, familyOf(address)) && (isIP(address) === 4 || publicIpv6.check(address, "ipv6"));

const hostWithoutBrackets = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, "$1");

export type Opening = { address?: string } | { refusal: string };

/**
 * Returns the address to connect to for a link, or why it is not opened. A link to the target's own host is opened
 * without a fixed address. A target on loopback may also lead to loopback addresses, and any target to public ones.
 */
export async function openingOf(link: URL, base: URL, lookup: Lookup): Promise<Opening> {
  const scheme = link.protocol;
  if (scheme !== "http:" && scheme !== "https:")
    return { refusal: `not opened: ${scheme} is neither http: nor https:` };
  if (link.hostname === base.hostname) return {};
  const resolve = async (url: URL) => {
    const host = hostWithoutBrackets(url);
    return isIP(host) === 0 ? lookup(host) : [host];
  };
  const addresses = await resolve(link).catch(() => []);
  const [first] = addresses;
  if (first === undefined) return { refusal: `not opened: the host name of ${link.host} cannot be resolved` };
  if (addresses.every(isPublic)) return { address: first };
  const isLocal = (await resolve(base).catch(() => [])).some(isLoopback);
  if (isLocal && addresses.every(isLoopback)) return { address: first };
  return {
    refusal:
      `not opened: ${link.host} is not the target's host and has no public address. ` +
      "Let links and redirects lead to the target's own host or to a public one",
  };
}

/**
 * Returns the parts of a page of another origin that the suite keeps: the status, where it leads, and what a person
 * sees. The page may contain somebody's secrets, so cookies, scripts, comments and the values of forms are removed.
 */
export function publicPart(result: HttpResponse | HttpFailure): HttpResponse | HttpFailure {
  if ("failure" in result) return result;
  const { "content-type": type, location, refresh } = result.headers;
  const text = result.body
    .toString("utf8")
    .replaceAll(/<(script|style|textarea)\b[^]*?<\/\1>|<!--[^]*?-->|<input\b[^>]*>/gi, "");
  return { status: result.status, headers: { "content-type": type, location, refresh }, body: Buffer.from(text) };
}
