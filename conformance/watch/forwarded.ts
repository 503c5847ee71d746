// The judge's end of the pipe: reads exchanges and webhooks from what a forwarding process tells.
import { frameReader, type Frame } from "./frames.ts";
import { createHttpStream, type HttpStream } from "./http-stream.ts";
import type { Exchange, Listener } from "./traffic.ts";

/** Sent to the forwarding process: all that was told of a connection has its response. */
export type Idle = { idle: number; told: number };

type Connection = { stream: HttpStream; told: number };

/** Reads frames until they end. */
export async function readForwarded(
  frames: AsyncIterable<Buffer>,
  listener: Listener,
  send: (idle: Idle) => void,
): Promise<void> {
  const connections = new Map<number, Connection>();
  let isDraining = false;
  let lastAt = 0;

  const missed = (reason: string) => listener.missed(reason);
  function seeWebhook({ method, sentAt, path, headers, body, response }: Exchange): void {
    if (method !== "POST") return listener.missed("requests to the receiver of webhooks that are no POST");
    listener.see({ kind: "webhook", sentAt, path, headers, body, ...(response && { status: response.status }) });
  }
  function connect(id: number, see: (exchange: Exchange) => void): Connection {
    const connection = { stream: createHttpStream(see, missed), told: 0 };
    connections.set(id, connection);
    return connection;
  }
  const see = (exchange: Exchange) => listener.see(exchange);

  function tellIdle(id: number, { stream, told }: Connection): void {
    if (isDraining && stream.isIdle) send({ idle: id, told });
  }

  function handle({ kind, connection: id, at, content }: Frame): void {
    lastAt = at;
    if (kind === "missed") {
      const { reason, count } = JSON.parse(content.toString()) as { reason: string; count: number };
      return listener.missed(reason, count);
    }
    if (kind === "drain") {
      isDraining = true;
      for (const [each, connection] of connections) tellIdle(each, connection);
      return;
    }
    const isWebhooks = kind === "opened-webhooks" || kind === "gap-webhooks";
    const connection = connections.get(id) ?? connect(id, isWebhooks ? seeWebhook : see);
    const { stream } = connection;
    if (kind === "gap" || kind === "gap-webhooks") {
      connection.told = 0;
      return stream.lose(content.toString());
    }
    if (kind === "closed") {
      connections.delete(id);
      return stream.closed(at);
    }
    if (kind === "sent" || kind === "received") stream[kind](content, at);
    if (kind === "ended") stream.ended(at);
    if (kind === "sent" || kind === "received" || kind === "ended") connection.told += 1;
    tellIdle(id, connection);
  }

  const read = frameReader(handle);
  for await (const bytes of frames) read(bytes);
  for (const { stream } of connections.values()) stream.closed(lastAt);
}
