// The forwarding tests show what is read of whole conversations (forward.test.ts).
import { expect, test } from "vitest";
import { createHttpStream } from "./http-stream.ts";
import type { Exchange } from "./traffic.ts";

/** Plays steps, one a millisecond: ">" the caller sends, "<" the service does, and "?" bytes are missing. */
function play(steps: readonly string[]) {
  const seen: Exchange[] = [];
  const missed: string[] = [];
  let now = -1;
  const stream = createHttpStream(
    (exchange) => seen.push(exchange),
    (reason) => missed.push(reason),
    () => now,
  );
  for (const step of steps) {
    now += 1;
    if (step === "?") stream.lose("gap");
    else stream[step.startsWith(">") ? "sent" : "received"](Buffer.from(step.slice(1)));
  }
  return { paths: seen.map(({ path }) => path), seen, missed, isIdle: stream.isIdle() };
}

const get = (path: string) => `>GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const ok = "<HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const ahead = "connections whose caller does not wait for responses";

test.each<[name: string, steps: string[], paths: string[], missed: string[]]>([
  ["request after a response", [get("/1"), ok, get("/2"), "?", ok, get("/3"), ok], ["/1", "/3"], ["gap"]],
  ["gap in a response", [get("/1"), ok, get("/2"), "?", "<k", ok, get("/3"), ok], ["/1", "/3"], ["gap"]],
  ["request that may belong to the gap", [get("/1"), ok, "?", get("/2"), ok, get("/3"), ok], ["/1", "/3"], ["gap"]],
  ["connection that is not known", ["?", ok, get("/1"), ok, get("/2"), ok], [], ["gap"]],
  ["connection with requests ahead", [get("/1"), get("/2"), "?", ok, get("/3"), ok, ok], [], [ahead]],
])("after a gap: %s", (_name, steps, paths, missed) => {
  expect(play(steps)).toMatchObject({ paths, missed });
});

test("a connection is idle only if each request has its response", () => {
  const idle = [[], [get("/").slice(0, 3)], [get("/")], [get("/"), ok], ["?"]].map((steps) => play(steps).isIdle);
  expect(idle).toEqual([true, false, false, true, false]);
});

test("times are those of the first byte of the request and of the last of the response", () => {
  const steps = [get("/").slice(0, 5), `>${get("/").slice(5)}`, ok.slice(0, -1), `<${ok.slice(-1)}`];
  expect(play(steps).seen).toMatchObject([{ sentAt: 0, endedAt: 3 }]);
});
