import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Opens connections to a port of this machine. The server may close some at once. */
export async function openSockets(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket.resume());
    await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => undefined);
  }
  return sockets;
}

export const stillOpen = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => !destroyed).length;

/** Starts creates with a valid key, whose bodies have one byte per second and never end. */
export async function startSlowSenders({ port, key }: { port: number; key: string }, count: number) {
  const sockets = await openSockets(port, count);
  const headers = `host: a\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`;
  let refused = 0;
  for (const socket of sockets) {
    socket.on("data", (chunk) => (refused += Number(String(chunk).startsWith("HTTP/1.1 408 "))));
    socket.write(`POST /v1/disbursements HTTP/1.1\r\n${headers}`);
  }
  // Real senders do not send at the same moments, so each hundredth of the sockets has its own.
  let tick = 0;
  const timer = setInterval(() => {
    tick += 1;
    for (let index = tick % 100; index < count; index += 100) if (sockets[index]!.writable) sockets[index]!.write(" ");
  }, 10);
  return {
    open: () => stillOpen(sockets),
    /** How many requests got 408. */
    refused: () => refused,
    stop() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}
