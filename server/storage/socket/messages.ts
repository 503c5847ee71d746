import type { Socket } from "node:net";
import { deserialize, serialize } from "node:v8";

/** The longest message, in bytes. A page of a list is far smaller. */
const LONGEST = 64 * 1024 * 1024;
const LENGTH_BYTES = 4;

/** Sends a value: its length in bytes, then the value as `v8` writes it, which keeps dates, bytes and absent fields. */
export function sendMessage(socket: Socket, value: unknown): void {
  const body = serialize(value);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(body.length);
  socket.write(Buffer.concat([length, body]));
}

/** Calls `receive` with each value that arrives. A malformed message ends the connection. */
export function onMessages(socket: Socket, receive: (value: unknown) => void): void {
  let waiting = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    try {
      for (let body = next(); body; body = next()) receive(deserialize(body));
    } catch (error) {
      socket.destroy(error as Error);
    }
  });

  function next(): Buffer | undefined {
    if (waiting.length < LENGTH_BYTES) return undefined;
    const end = LENGTH_BYTES + waiting.readUInt32BE();
    if (end > LONGEST) throw new Error("the message is too long");
    if (waiting.length < end) return undefined;
    const body = waiting.subarray(LENGTH_BYTES, end);
    waiting = waiting.subarray(end);
    return body;
  }
}
