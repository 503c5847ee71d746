import { Client } from "undici";

export interface Connections {
  /** Returns an unused connection to this origin, if possible an open connection. */
  take(origin: string): Client;
  /** The number of receivers to which a connection is kept. */
  readonly receivers: number;
  /** Closes all connections. Requests in progress fail. */
  close(): Promise<void>;
}

/**
 * Keeps connections to receivers open for later webhooks, each for one request at a time. The caller limits the number
 * of connections.
 *
 * undici's Agent is not used, because merchants can invent any number of receivers. The Agent reserves space for 2,048
 * waiting requests per receiver, never frees the state of a receiver that did not respond, and searches all receivers
 * when a connection closes.
 */
export function createConnections(options: Client.Options): Connections {
  const byOrigin = new Map<string, Set<Client>>();

  function open(origin: string): Client {
    const client = new Client(origin, options);
    const clients = byOrigin.get(origin) ?? new Set();
    byOrigin.set(origin, clients.add(client));
    const forget = () => {
      // The client opens a new connection for a request that was not yet sent.
      if (client.stats.size > 0) return;
      clients.delete(client);
      if (clients.size === 0 && byOrigin.get(origin) === clients) byOrigin.delete(origin);
      void client.close().catch(() => {});
    };
    // The client drops an aborted request only after these events.
    const forgetSoon = () => void setImmediate(forget);
    client.on("disconnect", forgetSoon).on("connectionError", forgetSoon);
    return client;
  }

  return {
    take(origin) {
      for (const client of byOrigin.get(origin) ?? []) if (client.stats.size === 0) return client;
      return open(origin);
    },
    get receivers() {
      return byOrigin.size;
    },
    async close() {
      await Promise.all([...byOrigin.values()].flatMap((clients) => [...clients].map((client) => client.destroy())));
    },
  };
}
