import { describe, expect, test } from "vitest";
import { ConnectionError, NotFoundError, OutcomeUnknownError, UnexpectedAnswerError } from "./index.ts";
import {
  disbursementCreated,
  disbursementRequest,
  ok,
  reachedClient,
  record,
  rejectionOf,
  respond,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const page = (status: number) => respond(status, "<!doctype html><title>nginx</title>");

describe("a client that has never reached the service", () => {
  const wrong: [string, () => Step][] = [
    ["a page with 404", () => page(404)],
    ["a page with 200", () => page(200)],
    ["a firewall's page with 403", () => page(403)],
    ["a redirect", () => respond(302, "", { location: "https://elsewhere.example" })],
    ["a gateway's JSON", () => respond(404, { message: "no Route matched with those values" })],
  ];
  test.each(wrong)("fails immediately after %s, and the error says what to check", async (_, step) => {
    const { client, time, sent } = scriptedClient([step(), step()]);
    const started = time.now();
    const expected =
      /^Received \d+ without the service's JSON\. Check baseUrl \(https:\/\/pay\.example\), gateways and firewalls\./;
    const read = await time.run(rejectionOf(client.disbursements.verify("DSB1")));
    expect(read).toBeInstanceOf(UnexpectedAnswerError);
    expect((read as Error).message).toMatch(expected);
    // Whether a gateway passed the request on is not known.
    const created = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(created).toBeInstanceOf(OutcomeUnknownError);
    expect((created as Error).message).toMatch(
      /^Perhaps recorded\. Received .* Check baseUrl \(https:\/\/pay\.example\)/,
    );
    expect([sent.length, time.now() - started]).toEqual([2, 0]);
  });

  test("still retries a page with 502, because the service may be starting", async () => {
    const { client, time, sent } = scriptedClient([page(502), ok(record)]);
    expect(await time.run(client.disbursements.verify("DSB1"))).toEqual(record);
    expect(sent).toHaveLength(2);
  });
});

test.each([
  ["a record", ok(record)],
  ["a refusal with the error body of the service", respond(404, { statusCode: 404, error: "Not Found" })],
])("a client that has received %s retries after a page", async (_, first) => {
  const { client, time, sent } = scriptedClient([first, page(404), ok(disbursementCreated)]);
  await time.run(client.disbursements.verify("DSB1").catch(() => {}));
  expect(await time.run(client.disbursements.create(disbursementRequest))).toMatchObject({ recovered: false });
  expect(sent).toHaveLength(3);
});

test("an error body with another status than the response is not the service's", async () => {
  const { client, time } = scriptedClient([respond(404, { statusCode: 400, error: "x" })]);
  expect(await time.run(rejectionOf(client.disbursements.verify("DSB1")))).not.toBeInstanceOf(NotFoundError);
});

const failure = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("self-signed certificate"), { code }) });

describe("a certificate that is not trusted", () => {
  test.each([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "CERT_HAS_EXPIRED",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "ERR_TLS_CERT_ALTNAME_INVALID",
  ])("%s ends a create immediately: nothing was sent", async (code) => {
    const { client, time, sent } = scriptedClient([failure(code)]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toBe(
      `Connection to https://pay.example failed: fetch failed, self-signed certificate, ${code}.`,
    );
    expect(sent).toHaveLength(1);
  });

  test("leaves the outcome unknown after an attempt that may have been recorded", async () => {
    const { client, time } = scriptedClient([respond(500), failure("CERT_HAS_EXPIRED")]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(ConnectionError);
  });

  test("is different from an alert of the service about the client's certificate, which can follow the request", async () => {
    const { client, time } = scriptedClient([failure("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
  });
});

test.each(["connect_REFUSED_later", "ENOTFOUND_1", "X_EAI_AGAIN"])(
  "the error code %s does not prove that nothing was sent",
  async (code) => {
    const { client, time } = scriptedClient([failure(code)], { retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
  },
);

test("the code of the error itself counts, too", async () => {
  const refused = Object.assign(new Error("Unable to connect"), { code: "ConnectionRefused" });
  const { client, time } = scriptedClient([refused], { retry: { tries: 1 } });
  const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
  expect(error).toBeInstanceOf(ConnectionError);
});

test("a gateway's page is no proof that a payment is unknown to a reached service: the list decides", async () => {
  const { client, time, sent } = await reachedClient([page(403), ok({ items: [record] })], { retry: { tries: 1 } });
  expect(await time.run(client.disbursements.create(disbursementRequest))).toEqual({ ...record, recovered: true });
  expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"]);
});
