import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** What happens to a connection when the client sends a commit. */
type OnCommit = "pass" | "cut-before" | "cut-after";

/** The name of the statement in the wire protocol: a Query message that contains COMMIT. */
const COMMIT = Buffer.from("COMMIT\0");

export type PostgresProxy = Awaited<ReturnType<typeof startPostgresProxy>>;

/** A proxy in front of PostgreSQL that a test can cut, slow down and switch off. */
export async function startPostgresProxy(server: string) {
  let target = new URL(server);
  const pairs = new Set<readonly [client: Socket, upstream: Socket]>();
  const forgotten = new WeakSet<object>();

  const listener = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    let isCommitting = false;
    client.on("data", (data) => {
      const cutting = data.includes(COMMIT) ? proxy.onCommit : "pass";
      if (cutting !== "pass") proxy.onCommit = "pass";
      if (cutting === "cut-before") return end();
      isCommitting = cutting === "cut-after";
      if (!forgotten.has(pair)) upstream.write(data);
    });
    upstream.on("data", (data) => {
      // The server responds after it has committed.
      if (isCommitting) return void proxy.beforeCut().finally(end);
      if (forgotten.has(pair)) return;
      if (proxy.delayMs === 0) client.write(data);
      else setTimeout(() => client.write(data), proxy.delayMs);
    });
  });

  async function listen(port: number) {
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    return (listener.address() as AddressInfo).port;
  }

  const cut = () => {
    for (const [client] of pairs) client.destroy();
  };
  const port = await listen(0);
  const proxy = {
    url: Object.assign(new URL(server), { hostname: "127.0.0.1", port: String(port) }).href,
    /** Whether the next commit is cut off before it reaches the server, or after the server has committed. */
    onCommit: "pass" as OnCommit,
    /** What happens between a commit and the cut after it. */
    beforeCut: async (): Promise<unknown> => undefined,
    /** Cuts all connections. */
    cut,
    /** Refuses connections until `restore`. */
    async refuse() {
      listener.close();
      cut();
      await once(listener, "close");
    },
    /**
     * Passes on nothing from existing connections, like a network that has lost the state of the connections. New
     * connections work.
     */
    forget() {
      for (const pair of pairs) forgotten.add(pair);
    },
    /** The delay of everything that the server sends, in milliseconds. */
    delayMs: 0,
    async restore() {
      cut();
      if (!listener.listening) await listen(port);
    },
    /** Leads new connections to another server. */
    leadTo: (next: string) => void (target = new URL(next)),
    async close() {
      listener.close();
      cut();
      if (listener.listening) await once(listener, "close");
    },
  };
  return proxy;
}
