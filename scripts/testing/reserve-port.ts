import { once } from "node:events";
import { connect, createServer } from "node:net";

/** The operating system gives programs that ask for any port one from 32,768 on, so these ports stay free. */
const FIRST = 10_000;
const COUNT = 22_000;

let next = process.pid % COUNT;

/**
 * Reserves a port of 127.0.0.1 for a program that cannot choose its own, or on which nothing is to listen. The same port
 * of 127.0.0.2 is held until this process ends, so every other process that reserves ports gets another one.
 */
export async function reservePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % COUNT;
    const port = FIRST + next;
    if ((await hold(port)) && !(await isServed(port))) return port;
  }
}

async function hold(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.2").unref();
  return once(server, "listening").then(
    () => true,
    () => false,
  );
}

async function isServed(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const connected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}
