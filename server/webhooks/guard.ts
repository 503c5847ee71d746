import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { ServiceError } from "../domain/errors.ts";

/** Thrown for a webhook URL that the server will not connect to. The `message` explains why to the merchant. */
export class Refusal extends ServiceError {
  /** Details for the log, which only the operator may see. */
  readonly detail: string | undefined;

  constructor(why: string, detail?: string) {
    super("invalid_value", `Refused: ${why}`);
    this.detail = detail;
  }
}

const CLOUD_PLATFORM = "cloud platform";

/**
 * The global unicast range (RFC 4291 §2.4). ipaddr.js also classifies other addresses as unicast, such as
 * `::127.0.0.1`.
 */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
/** The address of Azure's platform services. Unlike the addresses of other clouds' services, it looks public. */
const AZURE_PLATFORM = "168.63.129.16";
/** Addresses at which clouds serve the credentials of a machine: most of them, Alibaba and Oracle. */
const PLATFORM_IPV4 = new Set([AZURE_PLATFORM, "169.254.169.254", "100.100.100.200", "192.0.0.192"]);
/**
 * AWS keeps the first range for its services. The second range is GCP's own; the networks of GCP's customers have other
 * prefixes.
 */
const PLATFORM_IPV6 = ["fd00:ec2::/32", "fd20:ce::/48"].map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * Returns the range of an IP address that is not public, or undefined. Every address that embeds an IPv4 address (mapped,
 * NAT64, 6to4, Teredo) is special, even if that IPv4 address is public.
 *
 * @param address in the notation of resolvers and the URL standard; for other notations, `no IP address` is returned
 */
export function specialRange(address: string): string | undefined {
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return "no IP address";
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range !== "unicast") return range;
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(PUBLIC_IPV6)) return "outside the public IPv6 range";
  return parsed.toString() === AZURE_PLATFORM ? CLOUD_PLATFORM : undefined;
}

/**
 * Returns the range of an address that must not be connected to even if private addresses are allowed, or undefined.
 * Clouds serve the credentials of a machine at these addresses (D35), and gateways such as NAT64 and 6to4 lead to them
 * through an IPv6 address that contains an IPv4 address.
 */
export function neverReachable(address: string): string | undefined {
  const special = specialRange(address);
  if (special === "no IP address" || special === "linkLocal") return special;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return PLATFORM_IPV4.has(parsed.toString()) ? CLOUD_PLATFORM : undefined;
  // An operator chooses the prefix of a NAT64 gateway, which the IPv4 address follows.
  const end = new ipaddr.IPv4(parsed.toByteArray().slice(-4)).toString();
  if (PLATFORM_IPV4.has(end) || PLATFORM_IPV6.some((range) => parsed.match(range))) return CLOUD_PLATFORM;
  return special === "uniqueLocal" || special === "loopback" ? undefined : special;
}

/** Explains why nothing is sent to an address of this range. */
export const notPublic = (address: string, range: string): string =>
  neverReachable(address) === undefined
    ? `not public (${range}); webhooks are sent to public addresses only, unless WEBHOOK_ALLOW_PRIVATE=true.`
    : `not public (${range}); webhooks are never sent there.`;

/**
 * Parses a webhook URL (D7a): http or https, without credentials. `URL` converts every notation of an IPv4 address
 * (decimal, octal, hex, short, percent-encoded, full-width) to dotted decimal.
 *
 * @param allowInsecure false to refuse plain http and ports below 1024 other than 443 (D35)
 * @throws Refusal without the URL in its message, because the URL may contain a password.
 */
export function parseTarget(url: string, allowInsecure: boolean): URL {
  const target = URL.parse(url);
  if (!target) throw new Refusal("the webhook URL is not valid.");
  if (target.protocol !== "http:" && target.protocol !== "https:") {
    throw new Refusal(`webhooks are sent to http and https URLs only, not ${target.protocol.slice(0, 20)}`);
  }
  if (target.username || target.password) {
    throw new Refusal("the webhook URL contains a user name or password. Remove them.");
  }
  if (!allowInsecure && target.protocol !== "https:") {
    throw new Refusal("webhooks are sent to https URLs only, unless WEBHOOK_ALLOW_INSECURE=true.");
  }
  // The other ports below 1024 belong to services such as mail.
  if (!allowInsecure && target.port !== "" && Number(target.port) < 1_024) {
    throw new Refusal("webhooks are sent to port 443 and to ports from 1024, unless WEBHOOK_ALLOW_INSECURE=true.");
  }
  return target;
}
