import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { TLSSocket } from "node:tls";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSender } from "./send.ts";

const DAY_MS = 86_400_000;
const trusted = getCACertificates("default");
const servers: Server[] = [];
let requests = 0;
let servernames: (string | false | undefined)[] = [];

/** An HTTPS receiver on loopback with a certificate for `merchant.example`. */
async function httpsReceiver(notBefore: Date) {
  const { private: key, cert } = await generate([{ name: "commonName", value: "merchant.example" }], {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: notBefore,
    notAfterDate: new Date(notBefore.getTime() + 30 * DAY_MS),
  });
  const server = createServer({ key, cert }, (request, response) => {
    requests += 1;
    servernames.push((request.socket as TLSSocket & { servername?: string | false }).servername);
    response.end("ok");
  });
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { cert, port: (server.address() as AddressInfo).port };
}

async function sendTo(url: string) {
  const sender = createSender({
    allowPrivate: true,
    allowInsecure: false,
    lookup: async () => ["127.0.0.1"],
    now: Date.now,
  });
  const outcome = await sender.send({ url, id: "msg_1", secrets: [`whsec_${"A".repeat(43)}=`], body: "{}" });
  await sender.close();
  return outcome;
}

let valid: { cert: string; port: number };
let expired: { cert: string; port: number };

beforeAll(async () => {
  valid = await httpsReceiver(new Date(Date.now() - DAY_MS));
  expired = await httpsReceiver(new Date(Date.now() - 60 * DAY_MS));
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  for (const server of servers) server.close();
});

test("refuses a certificate of an untrusted authority", async () => {
  setDefaultCACertificates(trusted);
  requests = 0;
  const { error } = await sendTo(`https://merchant.example:${valid.port}/`);
  expect(error).toBe(
    "The receiver's TLS certificate is not signed by a trusted authority (DEPTH_ZERO_SELF_SIGNED_CERT).",
  );
  expect(requests).toBe(0);
});

describe("with a trusted authority", () => {
  beforeAll(() => setDefaultCACertificates([...trusted, valid.cert, expired.cert]));

  test("delivers the webhook, using the name, not the address, for SNI and verification", async () => {
    servernames = [];
    expect(await sendTo(`https://merchant.example:${valid.port}/`)).toMatchObject({ httpStatus: 200 });
    expect(servernames).toEqual(["merchant.example"]);
  });

  test("refuses a certificate for another name", async () => {
    requests = 0;
    for (const host of ["other.example", "127.0.0.1"]) {
      const { error } = await sendTo(`https://${host}:${valid.port}/`);
      expect(error).toBe("The receiver's TLS certificate is issued for another name (ERR_TLS_CERT_ALTNAME_INVALID).");
    }
    expect(requests).toBe(0);
  });

  test("refuses an expired certificate", async () => {
    const { error } = await sendTo(`https://merchant.example:${expired.port}/`);
    expect(error).toBe("The receiver's TLS certificate has expired (CERT_HAS_EXPIRED).");
  });

  test("refuses a receiver without TLS", async () => {
    const server = createHttpServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { error } = await sendTo(`https://merchant.example:${(server.address() as AddressInfo).port}/`);
    server.close();
    expect(error).toMatch(/^A TLS connection to the receiver could not be established \((EPROTO|ERR_SSL_\w+)\)\.$/);
  });
});
