import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { signedIn, visit, type Visitor } from "../../testing/dashboard.ts";
import { startServer, type TestServer } from "../../testing/server.ts";
import { sender } from "./live.ts";

const PATIENCE = { timeout: 20_000, interval: 10 };
let server: TestServer;
let visitor: Visitor;
const streams: Stream[] = [];
beforeEach(async () => {
  server = await startServer();
  visitor = await signedIn(server);
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await server.close();
});

interface Stream {
  status: number;
  headers: Headers;
  /** The data of the events so far. */
  events: string[];
  /** Resolves when the server has ended the response. */
  ended: Promise<void>;
  close(): void;
}

/** Opens the stream of a merchant's pages, as a browser does. */
async function watch(merchantId = server.merchant.id, { cookie } = visitor): Promise<Stream> {
  const abort = new AbortController();
  const address = `${server.url}/dashboard/m/${merchantId}/live`;
  const response = await fetch(address, { headers: { cookie }, redirect: "manual", signal: abort.signal });
  const events: string[] = [];
  async function read() {
    const reader = response.body!.getReader();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += Buffer.from(part.value).toString();
      events.splice(0, Infinity, ...[...text.matchAll(/^data: (.+)\n\n/gm)].map(([, data]) => data!));
    }
  }
  const ended = read().catch(() => undefined);
  const stream = { status: response.status, headers: response.headers, events, ended, close: () => abort.abort() };
  streams.push(stream);
  return stream;
}

/** Lets time pass until a stream has had this event so many times. */
const heard = ({ events }: Stream, data: string, times = 1) =>
  vi.waitFor(() => {
    server.clock.advance(100);
    expect(events.filter((each) => each === data).length).toBeGreaterThanOrEqual(times);
  }, PATIENCE);

const count = ({ events }: Stream, data: string) => events.filter((each) => each === data).length;

describe("the stream", () => {
  test("tells of a payment's settlement, and of another merchant's nothing", async () => {
    const other = await server.addMerchant("Other");
    const [mine, others] = [await watch(), await watch(other.merchant.id)];
    expect(mine.headers.get("content-type")).toMatch(/^text\/event-stream/);
    for (const each of [mine, others]) await heard(each, "payments");
    await server.createPayout();
    await heard(mine, "payments", 2);
    await server.pass(server.config.settleDelayMs);
    await heard(mine, "payments", 3);
    expect(count(others, "payments")).toBe(1);
    await server.createPayout({}, { key: other.key });
    await heard(others, "payments", 2);
    expect(count(mine, "payments")).toBe(3);
  });

  test("tells of logged requests apart from payments", async () => {
    const stream = await watch();
    await heard(stream, "requests");
    await server.request("GET", "/sandbox/clock");
    await heard(stream, "requests", 2);
    expect(count(stream, "payments")).toBe(1);
  });

  test("tells of an attempt to deliver an old webhook, which no mark shows", async () => {
    const stream = await watch();
    await heard(stream, "payments");
    const { merchant } = server;
    const attempt = {
      eventId: "msg_old",
      merchantId: merchant.id,
      status: "delivered",
      durationMs: 1,
      counted: true,
    } as const;
    server.telemetry.emit("attempt", attempt);
    await heard(stream, "payments", 2);
    expect(count(stream, "requests")).toBe(1);
  });

  test("shows every few seconds that it works, and ends when the session was ended elsewhere", async () => {
    const [stream, kept] = [await watch(), await watch(server.merchant.id, await signedIn(server, { name: "Kofi" }))];
    await heard(stream, "alive", 3);
    await visitor.post("/sign-out");
    await heard(stream, "signed-out");
    await stream.ended;
    await heard(kept, "alive", count(kept, "alive") + 1);
    expect(count(kept, "signed-out")).toBe(0);
  });

  test("tells nothing more after the session ended, and ends with the next change", async () => {
    const stream = await watch();
    await heard(stream, "alive");
    await heard(stream, "payments");
    const told = count(stream, "payments");
    const { sessions } = await server.storage.listTeam({ idleMs: 3_600_000, limit: 10 });
    await server.storage.endSessions({ id: sessions[0]!.id }, "command ada@host");
    server.telemetry.emit("attempt", {
      eventId: "msg_old",
      merchantId: server.merchant.id,
      status: "delivered",
      durationMs: 1,
      delayMs: undefined,
      httpStatus: 204,
      counted: true,
      trace: undefined,
    });
    await vi.waitFor(() => {
      // Less than the time between two beats.
      server.clock.advance(10);
      expect(stream.events.at(-1)).toBe("signed-out");
    }, PATIENCE);
    await stream.ended;
    expect(count(stream, "payments")).toBe(told);
  });

  test("ends when the server is about to stop, which then takes no further one", async () => {
    const stream = await watch();
    server.service.drain();
    await stream.ended;
    expect(stream.events).not.toContain("signed-out");
    expect((await watch()).status).toBe(503);
  });

  test("does not keep a server from stopping", async () => {
    const stopping = await startServer({ seed: 2 });
    const { cookie } = await signedIn(stopping);
    const { body } = await fetch(`${stopping.url}/dashboard/m/${stopping.merchant.id}/live`, { headers: { cookie } });
    await stopping.close();
    expect(await new Response(body).text()).toContain("data: alive");
  });

  test("is limited for each session, and a closed one makes room", async () => {
    const open = [await watch(), await watch(), await watch(), await watch()];
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await watch()).status).toBe(429);
    expect((await watch(server.merchant.id, await signedIn(server))).status).toBe(200);
    open[0]!.close();
    await vi.waitFor(async () => expect((await watch()).status).toBe(200), PATIENCE);
  });

  test("is limited for each merchant, and not by the streams of others", async () => {
    for (let sessions = 0; sessions < 4; sessions += 1) {
      const person = await signedIn(server);
      for (let open = 0; open < 4; open += 1) expect((await watch(server.merchant.id, person)).status).toBe(200);
    }
    expect((await watch(server.merchant.id, await signedIn(server))).status).toBe(429);
    const { merchant } = await server.addMerchant("Other");
    expect((await watch(merchant.id, await signedIn(server))).status).toBe(200);
  });

  test("is for people who may see the merchant", async () => {
    expect((await watch(server.merchant.id, { ...visitor, cookie: "dashboard=x" })).status).toBe(303);
    const { merchant } = await server.addMerchant("Other");
    const person = await signedIn(server, { merchantId: merchant.id });
    expect((await watch(server.merchant.id, person)).status).toBe(404);
    expect((await watch(merchant.id, person)).status).toBe(200);
    const head = await fetch(`${server.url}/dashboard/m/${merchant.id}/live`, {
      method: "HEAD",
      headers: { cookie: person.cookie },
    });
    expect(head.status).toBe(200);
  });

  test("is closed if its reader does not take what was sent", () => {
    const stalled = new Writable({ write: () => undefined });
    const send = sender(stalled);
    for (let sent = 0; sent < 20; sent += 1) send("payments");
    expect(stalled.destroyed).toBe(false);
    for (let sent = 0; sent < 100; sent += 1) send("payments");
    expect(stalled.destroyed).toBe(true);
    expect(stalled.writableLength).toBeLessThan(2_000);
  });
});

test("what a page does by itself keeps no session alive", async () => {
  const path = `/m/${server.merchant.id}/disbursements`;
  const byItself = () => visit(server, path, { headers: { cookie: visitor.cookie, "x-live": "yes" } });
  server.clock.advance(2 * 3_600_000 - 1);
  expect((await byItself()).status).toBe(200);
  server.clock.advance(1);
  expect((await byItself()).status).toBe(303);
});

test("the script comes from this server, may be kept, and is no part of the sign-in page", async () => {
  const { html, headers } = await visitor.get(`/m/${server.merchant.id}/disbursements`);
  const [, src] = /<script type="module" src="\/dashboard\/(live-\w+\.js)"><\/script>/.exec(html)!;
  expect(headers.get("content-security-policy")).toContain("; script-src 'self'; connect-src 'self'");
  const script = await visit(server, `/${src}`);
  expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(script.headers.get("cache-control")).toContain("immutable");
  expect((await visitor.get("/sign-in")).html).not.toContain("<script");
});

test("only a merchant's pages have a stream, and the response to a form names the page to read in its place", async () => {
  const [, main] = /<main(.*?)>/.exec((await visitor.get("/team")).html)!;
  expect(main).toBe(' id="main"');
  const area = `/dashboard/m/${server.merchant.id}`;
  const { html } = await visitor.post(`/m/${server.merchant.id}/settings/keys`, { name: "Payroll" });
  expect(html).toContain(`<main id="main" data-stream="${area}/live" data-address="${area}/settings">`);
});
