import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";

/** The operating system assigns ports from 32,768 on to programs that ask for any free port, so never these. */
const FIRST = 10_000;
const COUNT = 22_000;

let next = process.pid % COUNT;

/**
 * Reserves a TCP port of this machine for a program that cannot ask for a free one, or for a test of a closed port. The
 * UDP port of the same number is held until this process ends, so other processes that reserve ports get another one.
 */
export async function reservePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % COUNT;
    const port = FIRST + next;
    const held = createSocket("udp4").unref();
    held.bind({ port, address: "127.0.0.1", exclusive: true });
    if ((await succeeds(once(held, "listening"))) && !(await isServed(port))) return port;
  }
}

/** True if a program of this machine listens on a TCP port. */
export async function isServed(port: number): Promise<boolean> {
  const connection = connect(port, "127.0.0.1");
  const isConnected = await succeeds(once(connection, "connect"));
  connection.destroy();
  return isConnected;
}

const succeeds = (event: Promise<unknown>) =>
  event.then(
    () => true,
    () => false,
  );
