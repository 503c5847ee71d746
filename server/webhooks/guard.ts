import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";
import ipaddr from "ipaddr.js";
import { buildConnector } from "undici";
import type { Lookup } from "./lookup.ts";

/** A webhook's address that the server will not connect to; `message` says why, for people. */
export class Refusal extends Error {
  readonly code = "WEBHOOK_REFUSED";

  constructor(why: string) {
    super(`Refused: ${why}`);
  }
}

const ADVICE = "webhooks go to public addresses only, unless WEBHOOK_ALLOW_PRIVATE=true";

/** Words for the ranges of ipaddr.js; a range without words is named as the library names it. */
const RANGES: Record<string, string> = {
  "6to4": "a 6to4 address",
  broadcast: "the broadcast address",
  carrierGradeNat: "an address of a carrier's NAT",
  ipv4Mapped: "an IPv4 address mapped into IPv6",
  linkLocal: "a link-local address",
  loopback: "a loopback address",
  multicast: "a multicast address",
  private: "a private address",
  reserved: "a reserved address",
  rfc6052: "a NAT64 address",
  rfc6145: "an IPv4 address translated into IPv6",
  teredo: "a Teredo address",
  uniqueLocal: "a private (unique local) address",
  unspecified: "an unspecified address",
};

/** All that is public in IPv6 lies in here (RFC 4291 §2.4); ipaddr.js also calls `::127.0.0.1` unicast. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
/** Azure answers its machines here, metadata among it: the one such address that no special range holds. */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Says what is wrong with connecting to an IP address, or undefined when it is a public one. Whatever embeds an
 * IPv4 address (mapped, NAT64, 6to4, Teredo) counts as special, even where that IPv4 address is public.
 *
 * @param address as a resolver or the URL standard writes it; other notations are refused.
 */
export function specialRange(address: string): string | undefined {
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return "not an IP address";
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range !== "unicast") return RANGES[range] ?? `an address of a special range (${range})`;
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(PUBLIC_IPV6)) return "outside the public range of IPv6";
  return parsed.toString() === AZURE_PLATFORM ? "an address of a cloud's own platform" : undefined;
}

/**
 * Reads the address of a webhook (D7a): http or https, without user or password. `URL` turns every notation of
 * an IPv4 address (decimal, octal, hex, short, percent-encoded, full-width) into the usual one.
 *
 * @throws Refusal whose text does not repeat the address: it may hold a password.
 */
export function parseTarget(url: string): URL {
  const target = URL.parse(url);
  if (!target) throw new Refusal("the webhook's address is not a valid URL.");
  if (target.protocol !== "http:" && target.protocol !== "https:") {
    throw new Refusal(`webhooks go to http and https addresses only, not ${target.protocol.slice(0, 20)}`);
  }
  if (target.username || target.password) {
    throw new Refusal("the webhook's address holds a user or password; take them out.");
  }
  return target;
}

export interface GuardOptions {
  /** Resolves a name to all of its addresses; asked once per connection. */
  lookup: Lookup;
  /** `specialRange`, or what lets every address pass. */
  forbidden: (address: string) => string | undefined;
  /** Milliseconds for one connection, name and TLS included. */
  timeoutMs: number;
}

/**
 * A connector for undici that checks where it leads before each new connection. A name is resolved once, every
 * address of the answer must pass, and the socket is given these very addresses: a second answer of the
 * DNS is never asked for. TLS still verifies the name. A connection that is used again needs no check: it
 * leads where it led when it was checked.
 */
export function guardedConnector({ lookup, forbidden, timeoutMs }: GuardOptions): buildConnector.connector {
  const connect = buildConnector({
    lookup: checkedLookup(lookup, forbidden),
    timeout: timeoutMs,
    allowH2: false,
    rejectUnauthorized: true,
    // An answer may hold both families: a second for each address but the last (Node's 250 ms is short for far receivers).
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
  });
  return (options, callback) => {
    // Sockets do not look up an address, so it is checked here.
    const special = isIP(options.hostname) === 0 ? undefined : forbidden(options.hostname);
    if (special) callback(new Refusal(`${options.hostname} is ${special}; ${ADVICE}.`), null);
    else connect(options, callback);
  };
}

function checkedLookup(lookup: Lookup, forbidden: GuardOptions["forbidden"]): LookupFunction {
  const resolve = callbackify((name: string) => resolveChecked(name, lookup, forbidden));
  // With `autoSelectFamily` sockets ask for all addresses.
  return (name, _options, callback) => resolve(name, callback);
}

async function resolveChecked(name: string, lookup: Lookup, forbidden: GuardOptions["forbidden"]) {
  const addresses = await lookup(name);
  if (addresses.length === 0) throw new Refusal(`${name} has no address.`);
  for (const address of addresses) {
    const special = forbidden(address);
    // The address itself is not told: it could be one that only the server's own DNS knows.
    if (special) throw new Refusal(`${name} leads to ${special}; ${ADVICE}.`);
  }
  return addresses.map((address) => ({ address, family: isIP(address) }));
}
