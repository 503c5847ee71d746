import { createServer as createHttpServer } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, test, vi } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { createHttpClient } from "./http.ts";
import type { TlsFiles } from "./tls.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts an https server that responds with the name of the client certificate. */
const secure = (options: ServerOptions) =>
  listening(
    createServer(options, (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.end(subject?.CN ?? "nobody");
    }),
  );

async function get(url: string, tls?: TlsFiles, identity = new URL(url).origin) {
  const client = createHttpClient(tls, identity);
  closing.push(() => client.close());
  const result = await client.send({ origin: new URL(url), path: "/", method: "GET", headers: {}, timeoutMs: 5000 });
  return "failure" in result ? result : { text: String(result.body) };
}

const hosts = ["127.0.0.1", "localhost"];
const selfSigned = makeCertificate({ name: "server", hosts });
const ca = makeCertificate({ name: "A CA" });
const signed = makeCertificate({ name: "server", hosts, issuer: ca });
const client = makeCertificate({ name: "the client", issuer: ca });

describe("a connection that is not established is explained", () => {
  test.each([
    [
      "a self-signed certificate",
      selfSigned,
      /certificate is self-signed, and this machine does not trust it.*--ca server\.pem/,
    ],
    ["an unknown CA", signed, /signed by a CA that this machine does not know.*--ca FILE/],
  ])("%s", async (_, certificate, message) => {
    const port = await secure(certificate);
    expect(await get(`https://127.0.0.1:${port}`)).toEqual({
      failure: expect.stringMatching(message),
      unreachable: true,
    });
  });

  test.each([
    ["an expired certificate", makeCertificate({ name: "old", hosts, validDays: -1 }), /has expired. Renew it/],
    [
      "the certificate of another host",
      makeCertificate({ name: "other", hosts: ["pay.example"] }),
      /is for DNS:pay\.example, not for 127\.0\.0\.1:\d+\. Use a host name of the certificate/,
    ],
  ])("%s, although it is trusted", async (_, certificate, message) => {
    const port = await secure(certificate);
    const found = await get(`https://127.0.0.1:${port}`, { ca: certificate.cert });
    expect(found).toEqual({ failure: expect.stringMatching(message), unreachable: true });
  });

  test("https to a port of plain http", async () => {
    const port = await listening(createHttpServer((_, response) => void response.end("hello")));
    expect(await get(`https://127.0.0.1:${port}`)).toEqual({
      failure: `127.0.0.1:${port} speaks plain http, not https. Use http:// in --base-url, or the port of https`,
      unreachable: true,
    });
  });

  test("a port on which nothing listens", async () => {
    const port = await listening(createHttpServer());
    for (const close of closing.splice(0)) close();
    expect(await get(`http://127.0.0.1:${port}`)).toEqual({
      failure: expect.stringContaining(`nothing listens on 127.0.0.1:${port} (connection refused). Start the service`),
      unreachable: true,
    });
  });

  test("a switch to another protocol", async () => {
    const port = await listening(
      createTcpServer((socket) =>
        socket.once("data", () => socket.write("HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")),
      ),
    );
    expect(await get(`http://127.0.0.1:${port}`)).toEqual({
      failure: "the connection was switched to another protocol",
      unreachable: false,
    });
  });

  test("a missing client certificate", async () => {
    const port = await secure({ ...signed, ca: ca.cert, requestCert: true, rejectUnauthorized: true });
    expect(await get(`https://127.0.0.1:${port}`, { ca: ca.cert })).toEqual({
      failure: expect.stringMatching(/requires a client certificate.*--cert FILE --key FILE/),
      unreachable: true,
    });
  });
});

describe("with --ca", () => {
  test.each([
    ["a self-signed certificate is trusted", selfSigned, selfSigned],
    ["a certificate of the CA is trusted", signed, ca],
  ])("%s", async (_, certificate, { cert }) => {
    const port = await secure(certificate);
    expect(await get(`https://localhost:${port}`, { ca: cert })).toEqual({ text: "nobody" });
  });
});

describe("with --cert and --key", () => {
  const mutual = { ...signed, ca: ca.cert, requestCert: true, rejectUnauthorized: false };
  const tls = { ca: ca.cert, cert: client.cert, key: client.key };

  test("the target sees the client certificate", async () => {
    const port = await secure({ ...mutual, rejectUnauthorized: true });
    expect(await get(`https://127.0.0.1:${port}`, tls)).toEqual({ text: "the client" });
  });

  test("another host does not see it", async () => {
    const port = await secure(mutual);
    expect(await get(`https://localhost:${port}`, tls, `https://127.0.0.1:${port}`)).toEqual({ text: "nobody" });
  });
});

test("a connection that was idle for a second is not used again, even if its timer is late", async () => {
  const ports: unknown[] = [];
  const port = await listening(
    createHttpServer(({ socket }, response) => {
      ports.push(socket.remotePort);
      response.end();
    }),
  );
  const http = createHttpClient();
  closing.push(() => http.close());
  const origin = new URL(`http://127.0.0.1:${port}`);
  const clock = vi.spyOn(performance, "now");
  closing.push(() => clock.mockRestore());
  for (const time of [5000, 5900, 7000]) {
    clock.mockReturnValue(time);
    await http.send({ origin, path: "/", method: "GET", headers: {}, timeoutMs: 5000 });
  }
  expect(ports[1]).toBe(ports[0]);
  expect(ports[2]).not.toBe(ports[0]);
});

test("a connection that the target closed right after a response is not used again", async () => {
  const port = await listening(createHttpServer(({ socket }, response) => response.end("x", () => socket.end())));
  const http = createHttpClient();
  closing.push(() => http.close());
  const origin = new URL(`http://127.0.0.1:${port}`);
  for (let count = 0; count < 3; count += 1) {
    const result = await http.send({ origin, path: "/", method: "GET", headers: {}, timeoutMs: 5000 });
    expect(result).toMatchObject({ status: 200 });
  }
});

test("time in which the process did not run does not count against the target", async () => {
  const port = await listening(
    createHttpServer((_, response) => {
      const end = performance.now() + 1200;
      while (performance.now() < end);
      response.end("late");
    }),
  );
  const http = createHttpClient();
  closing.push(() => http.close());
  const origin = new URL(`http://127.0.0.1:${port}`);
  const result = await http.send({ origin, path: "/", method: "GET", headers: {}, timeoutMs: 1000 });
  expect(result).toMatchObject({ status: 200 });
});
