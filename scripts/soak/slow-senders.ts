import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { API_KEY } from "../bench/load.ts";

const HEAD = `POST /v1/disbursements HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`;
const EVERY_MS = 1_000;
/** Real senders do not send at the same moments, so their bytes are spread evenly over each second. */
const SHARES = 100;

export interface SlowSenders {
  /** How many connections the server has refused with 408. */
  refused(): number;
  stop(): void;
}

/** Opens connections that each send one byte of a request's body per second, with a valid key. */
export async function startSlowSenders(url: string, count: number): Promise<SlowSenders> {
  const { hostname, port } = new URL(url);
  let refused = 0;
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    socket.on("data", (chunk) => (refused += Number(String(chunk).startsWith("HTTP/1.1 408 "))));
    await once(socket, "connect");
    socket.write(HEAD);
    return socket;
  };
  const sockets: Socket[] = [];
  while (sockets.length < count) sockets.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  let share = 0;
  const timer = setInterval(() => {
    for (let index = share; index < sockets.length; index += SHARES) {
      const socket = sockets[index]!;
      if (socket.writable) socket.write(" ");
    }
    share = (share + 1) % SHARES;
  }, EVERY_MS / SHARES);
  return {
    refused: () => refused,
    stop() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}
