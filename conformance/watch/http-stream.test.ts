// The tests of the forward show what is read of whole conversations (forward.test.ts).
import { expect, test } from "vitest";
import { createHttpStream } from "./http-stream.ts";
import type { Exchange } from "./traffic.ts";

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const response = "HTTP/1.1 204 No Content\r\n\r\n";

test("a connection is idle without a request, and times are those of the first and the last byte", () => {
  const seen: Exchange[] = [];
  let now = 0;
  const stream = createHttpStream(
    (exchange) => seen.push(exchange),
    expect.unreachable,
    () => now,
  );
  const idle = [stream.isIdle()];
  for (const byte of Buffer.from(request + response)) {
    now += 1;
    stream[now > request.length ? "received" : "sent"](Buffer.of(byte));
    idle.push(stream.isIdle());
  }
  const busy = Array.from({ length: now - 1 }, () => false);
  expect(idle).toEqual([true, ...busy, true]);
  expect(seen).toMatchObject([{ sentAt: 1, endedAt: now }]);
});
