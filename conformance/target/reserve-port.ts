import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";

/** The operating system gives programs that ask for any port one from 32,768 on, so these ports stay free. */
const FIRST = 10_000;
const COUNT = 22_000;

let next = process.pid % COUNT;

/**
 * Reserves a TCP port of this machine for a program that cannot choose its own, or on which nothing is to listen. The UDP
 * port of the same number is held until this process ends, so every other process that reserves ports gets another one.
 */
export async function reservePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % COUNT;
    const port = FIRST + next;
    const held = createSocket("udp4").unref();
    held.bind({ port, address: "127.0.0.1", exclusive: true });
    if (!(await succeeds(once(held, "listening")))) continue;
    const connection = connect(port, "127.0.0.1");
    const isServed = await succeeds(once(connection, "connect"));
    connection.destroy();
    if (!isServed) return port;
  }
}

const succeeds = (event: Promise<unknown>) =>
  event.then(
    () => true,
    () => false,
  );
