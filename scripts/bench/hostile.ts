// 1,000 webhook receivers on different ports. GET returns the URLs of the receivers, which are all well-behaved or all
// hostile; DELETE closes their connections.
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { constants, setPriority } from "node:os";
import { BEHAVIOURS } from "../faults/behaviours.ts";

// Real receivers run on other machines, so these receivers must not take the processor from the server.
setPriority(constants.priority.PRIORITY_LOW);

const RECEIVERS = 1_000;
/** Sent in place of a TLS handshake. */
const GARBAGE = Buffer.alloc(100, "x");

const open = new Set<Socket>();

async function listen(server: Server): Promise<number> {
  server.on("connection", (socket) => {
    open.add(socket.on("error", () => undefined));
    socket.once("close", () => open.delete(socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

/** Starts a receiver with this behaviour towards each webhook that has arrived. */
function receiver(behaviour: "healthy" | "silent" | "reset" | "flood" | "drip" | "endless") {
  const server = () =>
    createServer((request, response) => {
      request.resume().once("end", () => void BEHAVIOURS[behaviour](response));
    });
  return async (): Promise<string> => `http://127.0.0.1:${await listen(server())}`;
}

const badTls = (act: (socket: Socket) => unknown) => async (): Promise<string> =>
  `https://127.0.0.1:${await listen(createTcpServer((socket) => socket.once("data", () => act(socket))))}`;

const HOSTILE = [
  ...(["silent", "reset", "flood", "drip", "endless"] as const).map(receiver),
  badTls((socket) => socket.end(GARBAGE)),
  badTls((socket) => socket.resume()),
];

const start = (kinds: readonly (() => Promise<string>)[]) =>
  Promise.all(Array.from({ length: RECEIVERS }, (_, index) => kinds[index % kinds.length]!()));

const urls = { "/hostile": await start(HOSTILE), "/healthy": await start([receiver("healthy")]) };

const control = createServer((request, response) => {
  if (request.method === "DELETE") for (const socket of open) socket.destroy();
  response.end(JSON.stringify(urls[request.url as keyof typeof urls] ?? open.size));
});
control.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(control.address() as AddressInfo).port}`));
