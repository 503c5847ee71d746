import { readFile } from "node:fs/promises";
import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { join } from "node:path";

/**
 * Returns all IPv4 and IPv6 addresses of a name. Rejects with a `code` such as `ENOTFOUND` if the name has no address.
 */
export type Lookup = (name: string) => Promise<string[]>;

/**
 * Resolves names through DNS only. The operating system's resolver runs on the four threads of Node's pool, where four
 * names with unresponsive name servers would delay every other lookup.
 */
export function dnsLookup(
  resolver: Pick<Resolver, "resolve4" | "resolve6"> = new Resolver({ timeout: 2_000, tries: 2 }),
): Lookup {
  return async (name) => {
    if (/(^|\.)localhost\.?$/i.test(name)) return ["127.0.0.1", "::1"]; // RFC 6761 §6.3: must not be queried in DNS.
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
    return [v4, v6].flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  };
}

const hostsFile =
  process.platform === "win32"
    ? join(process.env.SystemRoot ?? "C:\\Windows", "System32", "drivers", "etc", "hosts")
    : "/etc/hosts";

/**
 * Resolves the names in the hosts file, and all other names with `otherwise`. The hosts file has the names of receivers
 * on the operator's own network, which merchants may use only if private addresses are allowed.
 */
export const hostsLookup =
  (otherwise: Lookup, file = hostsFile): Lookup =>
  async (name) => {
    const addresses = addressesOf(name.toLowerCase().replace(/\.$/, ""), await readFile(file, "utf8").catch(() => ""));
    return addresses.length > 0 ? addresses : otherwise(name);
  };

/** Reads a hosts file: an address and its names per line, `#` before a comment. */
const addressesOf = (name: string, hosts: string): string[] =>
  hosts.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [address] : [];
  });
