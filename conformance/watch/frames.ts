// How a forwarding process tells its judge what passed: frames over a pipe. Each has a kind (1 byte), the connection (4),
// the time (8, milliseconds since 1970), the length of its content (4), and the content.

export const kinds = [
  /** A connection of a caller, from its first byte. */
  "opened",
  /** A connection of the service that brings webhooks, from its first byte. */
  "opened-webhooks",
  "sent",
  "received",
  /** The other side will send no more. */
  "ended",
  "closed",
  /** Bytes are missing, and why. The connection may be one that the judge does not know. */
  "gap",
  "gap-webhooks",
  /** What is not in any frame: `{ reason, count }` as JSON. */
  "missed",
  /** The forward stops: the judge tells which connections are idle. */
  "drain",
] as const;

export type FrameKind = (typeof kinds)[number];
export type Frame = { kind: FrameKind; connection: number; at: number; content: Buffer };

export const headerBytes = 17;

/** Writes a frame at an offset of `into`. Returns the offset after it. */
export function writeFrame(into: Buffer, offset: number, { kind, connection, at, content }: Frame): number {
  into.writeUInt8(kinds.indexOf(kind), offset);
  into.writeUInt32LE(connection, offset + 1);
  into.writeDoubleLE(at, offset + 5);
  into.writeUInt32LE(content.length, offset + 13);
  content.copy(into, offset + headerBytes);
  return offset + headerBytes + content.length;
}

/** Returns a function that is given the bytes as they come, and calls `handle` for each frame. */
export function frameReader(handle: (frame: Frame) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    let offset = 0;
    while (all.length - offset >= headerBytes) {
      const end = offset + headerBytes + all.readUInt32LE(offset + 13);
      if (end > all.length) break;
      handle({
        kind: kinds[all.readUInt8(offset)]!,
        connection: all.readUInt32LE(offset + 1),
        at: all.readDoubleLE(offset + 5),
        content: all.subarray(offset + headerBytes, end),
      });
      offset = end;
    }
    rest = Buffer.from(all.subarray(offset));
  };
}
