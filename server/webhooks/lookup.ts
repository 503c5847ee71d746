import { lookup, Resolver } from "node:dns/promises";

/** Returns all IPv4 and IPv6 addresses of a name. Rejects with a `code` such as `ENOTFOUND` if there are none. */
export type Lookup = (name: string) => Promise<string[]>;

/** Uses the operating system's resolver, including the hosts file, for receivers on the operator's own network. */
export const systemLookup: Lookup = async (name) => {
  const addresses = await lookup(name, { all: true });
  return addresses.map(({ address }) => address);
};

/**
 * Resolves names through DNS only, for URLs chosen by third parties. The operating system's resolver runs on the four
 * threads of Node's pool, where four names with unresponsive name servers would delay every other lookup.
 *
 * @param servers `host:port` of the name servers; by default those of the system.
 */
export function dnsLookup(servers?: string[]): Lookup {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (name) => {
    if (/(^|\.)localhost\.?$/i.test(name)) return ["127.0.0.1", "::1"]; // RFC 6761 §6.3: must not be queried in DNS.
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
    return [v4, v6].flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  };
}
