import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, expect, test, vi } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { createHttpClient } from "./http.ts";
import type { TlsCertificates } from "./tls.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}
const plain = (listener: RequestListener) => listening(createHttpServer(listener));
/** Starts an https server that responds with the name of the client certificate. */
const secure = (options: ServerOptions) =>
  listening(
    createServer(options, (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.end(subject?.CN ?? "nobody");
    }),
  );

/** Returns a function that sends a request with one client. */
function client(url: string, tls?: TlsCertificates, identity = new URL(url).origin, timeoutMs = 5000) {
  const http = createHttpClient(tls, identity);
  closing.push(() => http.close());
  return async () => {
    const result = await http.send({ origin: new URL(url), path: "/", method: "GET", headers: {}, timeoutMs });
    return "failure" in result ? result : { status: result.status, text: String(result.body) };
  };
}

const hosts = ["127.0.0.1", "localhost"];
const selfSigned = await makeCertificate({ name: "server", hosts });
const ca = await makeCertificate({ name: "A CA" });
const signed = await makeCertificate({ name: "server", hosts, issuer: ca });
const own = await makeCertificate({ name: "the client", issuer: ca });
const elsewhere = await makeCertificate({ name: "other", hosts: ["pay.example"] });
const mutual = { ...signed, ca: ca.cert, requestCert: true };
const identified = { ca: ca.cert, cert: own.cert, key: own.key };

test.each<[string, ServerOptions, TlsCertificates, RegExp]>([
  ["a self-signed certificate", selfSigned, {}, /self-signed, and this machine does not trust it.*--ca server\.pem/],
  ["an unknown CA", signed, {}, /signed by a CA that this machine does not know.*--ca FILE/],
  [
    "the certificate of another host",
    elsewhere,
    { ca: elsewhere.cert },
    /is for DNS:pay\.example, not for 127\.0\.0\.1/,
  ],
  ["a missing client certificate", mutual, { ca: ca.cert }, /requires a client certificate.*--cert FILE --key FILE/],
])("a failed connection is explained: %s", async (_, server, tls, message) => {
  const port = await secure({ ...server, rejectUnauthorized: true });
  const failure = expect.stringMatching(message) as string;
  expect(await client(`https://127.0.0.1:${port}`, tls)()).toEqual({ failure, unreachable: true });
});

test("a failed connection is explained: https to a port of plain http, a closed port", async () => {
  const port = await plain((_, response) => void response.end("hello"));
  const explained = async (scheme: string, failure: string) =>
    expect(await client(`${scheme}://127.0.0.1:${port}`)()).toEqual({
      failure: expect.stringContaining(failure) as string,
      unreachable: true,
    });
  await explained("https", `127.0.0.1:${port} speaks plain http, not https. Use http:// in --base-url`);
  for (const close of closing.splice(0)) close();
  await explained("http", `nothing listens on 127.0.0.1:${port} (connection refused). Start the service`);
});

test("a response that switches to another protocol ends the request", async () => {
  const switches = "HTTP/1.1 101 x\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
  const port = await listening(createTcpServer((socket) => socket.once("data", () => socket.write(switches))));
  expect(await client(`http://127.0.0.1:${port}`)()).toMatchObject({ failure: expect.stringContaining("switched") });
});

test.each<[string, ServerOptions, TlsCertificates, host: string, seen: string]>([
  ["a self-signed certificate is trusted with --ca", selfSigned, { ca: selfSigned.cert }, "localhost", "nobody"],
  ["a certificate of the CA is trusted with --ca", signed, { ca: ca.cert }, "localhost", "nobody"],
  ["the target sees the client certificate", mutual, identified, "127.0.0.1", "the client"],
  ["another host does not see the client certificate", mutual, identified, "localhost", "nobody"],
])("%s", async (_, server, tls, host, text) => {
  const port = await secure({ ...server, rejectUnauthorized: false });
  expect(await client(`https://${host}:${port}`, tls, `https://127.0.0.1:${port}`)()).toEqual({ status: 200, text });
});

test("a connection that was idle for a second is not used again, even if its timer is late", async () => {
  const ports: unknown[] = [];
  const port = await plain(({ socket }, response) => void response.end(String(ports.push(socket.remotePort))));
  const get = client(`http://127.0.0.1:${port}`);
  const clock = vi.spyOn(performance, "now");
  closing.push(() => clock.mockRestore());
  for (const time of [5000, 5900, 7000]) {
    clock.mockReturnValue(time);
    await get();
  }
  expect(ports[1]).toBe(ports[0]);
  expect(ports[2]).not.toBe(ports[0]);
});

test("a connection that the target closed right after a response is not used again", async () => {
  const port = await plain(({ socket }, response) => void response.end("x", () => socket.end()));
  const get = client(`http://127.0.0.1:${port}`);
  for (let count = 0; count < 3; count += 1) expect(await get()).toMatchObject({ status: 200 });
});

test("time in which the process did not run does not count against the target", async () => {
  const port = await plain((_, response) => {
    const end = performance.now() + 1200;
    while (performance.now() < end);
    response.end("late");
  });
  expect(await client(`http://127.0.0.1:${port}`, {}, undefined, 1000)()).toMatchObject({ status: 200 });
});
