import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";
import ipaddr from "ipaddr.js";
import { buildConnector } from "undici";
import type { Lookup } from "./lookup.ts";

/** Thrown for a webhook URL that the server will not connect to. The `message` explains why to the merchant. */
export class Refusal extends Error {
  readonly code = "WEBHOOK_REFUSED";

  constructor(why: string) {
    super(`Refused: ${why}`);
  }
}

const ADVICE = "webhooks are sent to public addresses only, unless WEBHOOK_ALLOW_PRIVATE=true";

/** Descriptions of ipaddr.js's address ranges. Other ranges are reported by the library's name. */
const RANGES: Record<string, string> = {
  "6to4": "a 6to4 address",
  broadcast: "the broadcast address",
  carrierGradeNat: "a carrier-grade NAT address",
  ipv4Mapped: "an IPv4-mapped IPv6 address",
  linkLocal: "a link-local address",
  loopback: "a loopback address",
  multicast: "a multicast address",
  private: "a private address",
  reserved: "a reserved address",
  rfc6052: "a NAT64 address",
  rfc6145: "an IPv4-translated IPv6 address",
  teredo: "a Teredo address",
  uniqueLocal: "a private (unique local) address",
  unspecified: "an unspecified address",
};

/**
 * The global unicast range (RFC 4291 §2.4). ipaddr.js also classifies other addresses as unicast, such as
 * `::127.0.0.1`.
 */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
/**
 * The address of Azure's platform services. Unlike the addresses of other clouds' services, it is in no special range.
 */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Returns why an IP address must not be connected to, or undefined if it is public. Every address that embeds an IPv4
 * address (mapped, NAT64, 6to4, Teredo) is special, even if that IPv4 address is public.
 *
 * @param address in the notation of resolvers and the URL standard; other notations are refused.
 */
export function specialRange(address: string): string | undefined {
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return "not an IP address";
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range !== "unicast") return RANGES[range] ?? `in a special-purpose range (${range})`;
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(PUBLIC_IPV6)) return "outside the public IPv6 range";
  return parsed.toString() === AZURE_PLATFORM ? "a cloud platform address" : undefined;
}

/**
 * Parses a webhook URL (D7a): http or https, without credentials. `URL` converts every notation of an IPv4 address
 * (decimal, octal, hex, short, percent-encoded, full-width) to dotted decimal.
 *
 * @throws Refusal without the URL in its message, because the URL may contain a password.
 */
export function parseTarget(url: string): URL {
  const target = URL.parse(url);
  if (!target) throw new Refusal("the webhook URL is not valid.");
  if (target.protocol !== "http:" && target.protocol !== "https:") {
    throw new Refusal(`webhooks are sent to http and https URLs only, not ${target.protocol.slice(0, 20)}`);
  }
  if (target.username || target.password) {
    throw new Refusal("the webhook URL contains a user name or password. Remove them.");
  }
  return target;
}

export interface GuardOptions {
  /** Resolves a name to all of its addresses; called once per connection. */
  lookup: Lookup;
  /** Returns why an address is forbidden, or undefined if it is allowed. Usually `specialRange`. */
  forbidden: (address: string) => string | undefined;
  /** Limit for opening a connection, including name resolution and TLS, in milliseconds. */
  timeoutMs: number;
}

/**
 * A connector for undici that checks the address of each new connection. A name is resolved once, all of its addresses
 * must be allowed, and the socket connects to one of these. There is no second DNS query that could return another
 * address (DNS rebinding). TLS still verifies the name. A reused connection needs no check.
 */
export function guardedConnector({ lookup, forbidden, timeoutMs }: GuardOptions): buildConnector.connector {
  const connect = buildConnector({
    lookup: checkedLookup(lookup, forbidden),
    timeout: timeoutMs,
    allowH2: false,
    rejectUnauthorized: true,
    // Try each address for one second before the next. Node's default of 250 ms is too short for distant receivers.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
  });
  return (options, callback) => {
    // Sockets skip the lookup for an IP address, so check it here.
    const special = isIP(options.hostname) === 0 ? undefined : forbidden(options.hostname);
    if (special) callback(new Refusal(`${options.hostname} is ${special}; ${ADVICE}.`), null);
    else connect(options, callback);
  };
}

function checkedLookup(lookup: Lookup, forbidden: GuardOptions["forbidden"]): LookupFunction {
  const resolve = callbackify((name: string) => resolveChecked(name, lookup, forbidden));
  // With `autoSelectFamily` sockets request all addresses.
  return (name, _options, callback) => resolve(name, callback);
}

async function resolveChecked(name: string, lookup: Lookup, forbidden: GuardOptions["forbidden"]) {
  const addresses = await lookup(name);
  if (addresses.length === 0) throw new Refusal(`${name} has no IP address.`);
  for (const address of addresses) {
    const special = forbidden(address);
    // Do not reveal the address, because it may be known only to the server's internal DNS.
    if (special) throw new Refusal(`${name} resolves to ${special}; ${ADVICE}.`);
  }
  return addresses.map((address) => ({ address, family: isIP(address) }));
}
