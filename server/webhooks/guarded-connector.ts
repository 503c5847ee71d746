import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { callbackify } from "node:util";
import { buildConnector } from "undici";
import { adviceFor, Refusal } from "./guard.ts";
import type { Lookup } from "./lookup.ts";

/**
 * The same text is used for a name without an address and for a name with a private address. Different texts would tell
 * merchants which names exist in the operator's internal DNS.
 */
const NO_PUBLIC_ADDRESS = "the receiver's name does not lead to a public address.";

export interface GuardOptions {
  /** Resolves a name to all of its addresses; called once per connection. */
  lookup: Lookup;
  /** Returns why an address is forbidden, or undefined if it is allowed: `specialRange` or `neverReachable`. */
  forbidden: (address: string) => string | undefined;
  /** True to refuse every unusable name with the same text, so that it tells nothing about the operator's DNS. */
  discreet: boolean;
  /** Limit for opening a connection, including name resolution and TLS, in milliseconds. */
  timeoutMs: number;
}

/**
 * A connector for undici that checks the address of each new connection. A name is resolved once, all of its addresses
 * must be allowed, and the socket connects to one of these. There is no second DNS query that could return another
 * address (DNS rebinding). TLS still verifies the name. A reused connection needs no check.
 */
export function guardedConnector(options: GuardOptions): buildConnector.connector {
  const { forbidden, timeoutMs } = options;
  const resolve = callbackify((name: string) => resolveChecked(name, options));
  const connect = buildConnector({
    // With `autoSelectFamily` sockets request all addresses.
    lookup: (name, _options, callback) => resolve(name, callback),
    timeout: timeoutMs,
    allowH2: false,
    rejectUnauthorized: true,
    // Without it, each connection would load the certificate authorities again, for about a millisecond.
    secureContext: createSecureContext(),
    // Try each address for one second before the next address. Node's default of 250 ms is too short for distant
    // receivers.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
  });
  return (target, callback) => {
    // Sockets skip the lookup for an IP address, so check it here.
    const special = isIP(target.hostname) === 0 ? undefined : forbidden(target.hostname);
    if (special) callback(new Refusal(`${target.hostname} is ${special}; ${adviceFor(target.hostname)}.`), null);
    else connect(target, callback);
  };
}

async function resolveChecked(name: string, { lookup, forbidden, discreet }: GuardOptions) {
  const addresses = await lookup(name).catch((error: NodeJS.ErrnoException) => {
    throw discreet ? new Refusal(NO_PUBLIC_ADDRESS, `${name} could not be resolved (${error.code})`) : error;
  });
  for (const address of addresses) {
    const special = forbidden(address);
    if (!special) continue;
    if (discreet) throw new Refusal(NO_PUBLIC_ADDRESS, `${name} resolves to ${address}, ${special}`);
    throw new Refusal(`${name} resolves to ${special}; ${adviceFor(address)}.`);
  }
  if (addresses.length === 0) throw new Refusal(NO_PUBLIC_ADDRESS, `${name} has no IP address`);
  return addresses.map((address) => ({ address, family: isIP(address) }));
}
