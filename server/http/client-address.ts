import ipaddr from "ipaddr.js";

/** The networks of recent addresses. Clients keep their connections, and finding a network takes 2 to 4 µs. */
const known = new Map<string | undefined, string | undefined>();
const MOST_KNOWN = 1_000;

/** Shortens an IP address for the log to its network, so that the log identifies no person: /24, for IPv6 /48. */
export function shortenedAddress(address: string | undefined): string | undefined {
  if (!known.has(address)) {
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(address, networkOf(address, { ipv4: 24, ipv6: 48 }));
  }
  return known.get(address);
}

/** The network of this many bits that an IP address belongs to. IPv4 addresses may be mapped to IPv6. */
export function networkOf(
  address: string | undefined,
  bits: Readonly<Record<"ipv4" | "ipv6", number>>,
): string | undefined {
  if (address === undefined || !ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  const kind = parsed.kind();
  const range = `${parsed.toString()}/${bits[kind]}`;
  const { IPv4, IPv6 } = ipaddr;
  return `${(kind === "ipv4" ? IPv4 : IPv6).networkAddressFromCIDR(range).toString()}/${bits[kind]}`;
}
