import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { buildClient } from "./client.ts";
import { ConnectionError, createClient, OutcomeUnknownError, TimeoutError, UnexpectedAnswerError } from "./index.ts";
import { system } from "./runtime.ts";
import { disbursementCreated, rejectionOf, key, disbursementRequest, record } from "./testing/fakes.ts";

// These tests use the real clock, the global fetch and a real server.
let listener: RequestListener;
let seen: IncomingMessage[];
const server = createServer((request, response) => {
  seen.push(request);
  listener(request, response);
});

beforeEach(async () => {
  seen = [];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
});

const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const connect = (options: object = {}) =>
  createClient({ baseUrl: address(), apiKey: key, retry: { tries: 1 }, ...options });
const respondWith =
  (data: object): RequestListener =>
  (_, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify({ statusCode: 200, data }));
  };
const redirect: RequestListener = ({ url }, response) => {
  response.writeHead(url === "/caught" ? 200 : 307, { location: "/caught" }).end();
};

describe("caches, such as that of Next.js 14, never answer a read", () => {
  const inits: (RequestInit | undefined)[] = [];
  const read = async () => {
    const client = connect({
      fetch: async (input: string | Request, init?: RequestInit) => {
        inits.push(input instanceof Request ? input : init);
        return Response.json({ statusCode: 200, data: record });
      },
    });
    await client.disbursements.verify(record.reference);
    await client.raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
    return inits.splice(0).map((init) => init!.cache);
  };

  test("where the runtime knows the field", async () => {
    expect(await read()).toEqual(["no-store", "no-store"]);
  });

  test("where the runtime refuses the field, requests do not have it", async () => {
    // As in older Workers.
    class Request extends globalThis.Request {
      constructor(input: string | Request, init?: RequestInit) {
        if (init && "cache" in init) throw new Error("The 'cache' field is not implemented.");
        super(input, init);
      }
    }
    Object.setPrototypeOf(Request.prototype, null);
    vi.stubGlobal("Request", Request);
    const client = connect({
      fetch: async (_: string, init: object) => {
        expect(init).not.toHaveProperty("cache");
        return Response.json({ statusCode: 200, data: record });
      },
    });
    await client.disbursements.verify(record.reference);
    vi.unstubAllGlobals();
  });
});

test("sets a timer for a moment that has just passed to 0, because Node warns of a negative delay", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  system.after(-3, () => {})();
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});

test.each([-10_000, 3_600_000])(
  "measures durations with a clock that ignores a jump of the system clock by %i ms",
  (jump) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const [started, startDate] = [system.now(), system.date()];
    vi.setSystemTime(startDate + jump);
    const [elapsed, moved] = [system.now() - started, system.date() - startDate];
    vi.useRealTimers();
    expect(moved).toBe(jump);
    expect(elapsed).toBeGreaterThanOrEqual(0);
    expect(elapsed).toBeLessThan(10_000);
  },
);

describe("over a real connection", () => {
  test("a create is one JSON POST with the key", async () => {
    listener = respondWith(disbursementCreated);
    expect(await connect().disbursements.create(disbursementRequest)).toEqual({
      ...disbursementCreated,
      recovered: false,
    });
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /v1/disbursements"]);
    expect(seen[0]!.headers).toMatchObject({ "x-api-key": key, "content-type": "application/json" });
  });

  test("a redirect is not followed, so the key goes nowhere else", async () => {
    listener = redirect;
    const client = connect();
    expect(await rejectionOf(client.disbursements.verify("DSB1"))).toBeInstanceOf(UnexpectedAnswerError);
    expect(await rejectionOf(client.disbursements.create(disbursementRequest))).toBeInstanceOf(OutcomeUnknownError);
    const { response } = await client.raw.GET("/v1/disbursements/{reference}", {
      params: { path: { reference: "DSB1" } },
    });
    expect(response.status).toBe(307);
    expect(seen.map(({ url }) => url)).not.toContain("/caught");
  });

  test("the raw client sends the key", async () => {
    listener = respondWith(record);
    const { raw } = connect({ apiKey: async () => key });
    const { data } = await raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
    expect(data!.data).toEqual(record);
    expect(seen[0]!.headers["x-api-key"]).toBe(key);
  });

  test("the raw client rejects a key that is invalid in a header", async () => {
    const { raw } = connect({ apiKey: () => `${key}\n` });
    const call = raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
    await expect(call).rejects.toThrow(/apiKey must be/);
    expect(seen).toEqual([]);
  });

  test("a timeout closes the connection", async () => {
    const closed = Promise.withResolvers<void>();
    let timeOut!: () => void;
    listener = (_, response) => {
      response.on("close", closed.resolve);
      timeOut();
    };
    // The time-out comes when the request has arrived, however busy this machine is.
    const after = (_delay: number, action: () => void) => {
      timeOut = action;
      return () => {};
    };
    const client = buildClient({ baseUrl: address(), apiKey: key, retry: { tries: 1 } }, { ...system, after });
    expect(await rejectionOf(client.disbursements.verify("DSB1"))).toBeInstanceOf(TimeoutError);
    await closed.promise;
  });

  test("a dropped connection is retried after a delay", async () => {
    listener = (request, response) => {
      if (seen.length === 1) response.destroy();
      else respondWith(record)(request, response);
    };
    const { disbursements } = connect({ retry: { tries: 2, minDelay: 1 } });
    expect(await disbursements.verify("DSB1")).toEqual(record);
    expect(seen).toHaveLength(2);
  });

  test("a refused connection is a definite failure, a broken one is not", async () => {
    listener = (_, response) => void response.destroy();
    const { disbursements } = connect();
    expect(await rejectionOf(disbursements.create(disbursementRequest))).toBeInstanceOf(OutcomeUnknownError);
    server.close();
    server.closeAllConnections();
    const other = { ...disbursementRequest, reference: "payroll-2" };
    expect(await rejectionOf(disbursements.create(other))).toBeInstanceOf(ConnectionError);
    server.listen(0);
  });
});
