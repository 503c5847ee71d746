import { lookup, Resolver } from "node:dns/promises";

/** All addresses of a name, IPv4 and IPv6; rejects with a `code` such as `ENOTFOUND` when there are none. */
export type Lookup = (name: string) => Promise<string[]>;

/** Resolves names as the operating system does, its hosts file included: for receivers on one's own machine or network. */
export const systemLookup: Lookup = async (name) => {
  const addresses = await lookup(name, { all: true });
  return addresses.map(({ address }) => address);
};

/**
 * Resolves names by asking the DNS only, for receivers that strangers name. The system's way runs on the few
 * threads of Node's pool, where four names whose servers are silent would hold up every other webhook.
 *
 * @param servers `host:port` of the name servers to ask; those of the system when left out.
 */
export function dnsLookup(servers?: string[]): Lookup {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (name) => {
    if (/(^|\.)localhost\.?$/i.test(name)) return ["127.0.0.1", "::1"]; // RFC 6761 §6.3: never asked of the DNS.
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
    return [v4, v6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}
