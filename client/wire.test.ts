import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConnectionError, createClient, OutcomeUnknownError, TimeoutError, UnexpectedAnswerError } from "./index.ts";
import { system } from "./runtime.ts";
import { created, failure, key, payout, record } from "./testing/fakes.ts";

// The client with nothing replaced: real time, the runtime's own fetch, a real server.
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
const answerWith =
  (data: object): RequestListener =>
  (_, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify({ statusCode: 200, data }));
  };
const redirect: RequestListener = ({ url }, response) => {
  response.writeHead(url === "/caught" ? 200 : 307, { location: "/caught" }).end();
};

test("a timer that is not needed any more is cleared", () => {
  vi.useFakeTimers();
  const cancel = system.after(1000, () => {});
  expect(vi.getTimerCount()).toBe(1);
  cancel();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("over a real connection", () => {
  test("a create is one POST of JSON with the key", async () => {
    listener = answerWith(created);
    expect(await connect().disbursements.create(payout)).toEqual({ ...created, recovered: false });
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /v1/disbursements"]);
    expect(seen[0]!.headers).toMatchObject({ "x-api-key": key, "content-type": "application/json" });
  });

  test("a redirect is not followed, and the key goes nowhere else", async () => {
    listener = redirect;
    const client = connect();
    expect(await failure(client.disbursements.verify("DSB1"))).toBeInstanceOf(UnexpectedAnswerError);
    expect(await failure(client.disbursements.create(payout))).toBeInstanceOf(OutcomeUnknownError);
    const { response } = await client.raw.GET("/v1/disbursements/{reference}", {
      params: { path: { reference: "DSB1" } },
    });
    expect(response.status).toBe(307);
    expect(seen.map(({ url }) => url)).not.toContain("/caught");
  });

  test("the plain client sends the key", async () => {
    listener = answerWith(record);
    const { raw } = connect({ apiKey: async () => key });
    const { data } = await raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
    expect(data!.data).toEqual(record);
    expect(seen[0]!.headers["x-api-key"]).toBe(key);
  });

  test("the plain client refuses a key that no header can hold", async () => {
    const { raw } = connect({ apiKey: () => `${key}\n` });
    const call = raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
    await expect(call).rejects.toThrow(/apiKey must be/);
    expect(seen).toEqual([]);
  });

  test("no answer in time ends the try, and the request with it", async () => {
    const closed = new Promise<void>((resolve) => {
      listener = (_, response) => void response.on("close", resolve);
    });
    expect(await failure(connect({ timeout: 20 }).disbursements.verify("DSB1"))).toBeInstanceOf(TimeoutError);
    await closed;
  });

  test("a pause passes and another try is made", async () => {
    listener = (request, response) => {
      if (seen.length === 1) response.destroy();
      else answerWith(record)(request, response);
    };
    const { disbursements } = connect({ retry: { tries: 2, minDelay: 1 } });
    expect(await disbursements.verify("DSB1")).toEqual(record);
    expect(seen).toHaveLength(2);
  });

  test("nobody at home is a definite no, a broken connection is not", async () => {
    listener = (_, response) => void response.destroy();
    const { disbursements } = connect();
    expect(await failure(disbursements.create(payout))).toBeInstanceOf(OutcomeUnknownError);
    server.close();
    server.closeAllConnections();
    expect(await failure(disbursements.create(payout))).toBeInstanceOf(ConnectionError);
    server.listen(0);
  });
});
