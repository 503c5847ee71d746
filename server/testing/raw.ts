import { once } from "node:events";
import { connect } from "node:net";
import { checkResponse } from "./contract.ts";
import type { HttpResponse } from "./http.ts";

/**
 * Sends bytes to a server on this machine, half-closes the connection, and reads until the server closes it.
 * Rejects if an error response violates the contract.
 * @returns all responses in order; each must have a content-length
 */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<HttpResponse[]> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // The server may close the connection before it has read everything.
  socket.on("error", () => undefined);
  socket.end(bytes);
  await once(socket, "close");
  return parseResponses(Buffer.concat(chunks));
}

function parseResponses(bytes: Buffer): HttpResponse[] {
  const responses: HttpResponse[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) throw new Error(`Not HTTP: ${rest.toString()}`);
    const [line = "", ...fields] = rest.subarray(0, end).toString().split("\r\n");
    const headers = Object.fromEntries(
      fields.map((field) => [field.split(":", 1)[0]!.toLowerCase(), field.slice(field.indexOf(":") + 1).trim()]),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    const begin = end + 4;
    const length = Number(headers["content-length"] ?? 0);
    const text = rest.subarray(begin, begin + length).toString();
    rest = rest.subarray(begin + length);
    if (status === 100) continue;
    if (status >= 400) checkResponse({ method: "", path: "", status, headers, text });
    responses.push({ status, headers, text, body: text === "" ? undefined : JSON.parse(text) });
  }
  return responses;
}

const CONNECTIONS = 8;
const REQUESTS_EACH = 1_000;

/** Sends as many requests as make the server log more than a pipe and the buffers at both of its ends can hold. */
export async function fillLog(port: number): Promise<void> {
  const requests = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n".repeat(REQUESTS_EACH);
  const responses = await Promise.all(Array.from({ length: CONNECTIONS }, () => exchange(port, requests)));
  const responded = responses.flat().filter(({ status }) => status === 200).length;
  if (responded !== CONNECTIONS * REQUESTS_EACH) throw new Error(`only ${responded} requests got a response`);
}
