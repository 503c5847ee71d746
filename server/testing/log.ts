import { exchange } from "./raw.ts";

const CONNECTIONS = 8;
const REQUESTS_EACH = 1_000;

/** Sends as many requests as make the server log more than a pipe and the buffers at both of its ends can hold. */
export async function fillLog(port: number): Promise<void> {
  const requests = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n".repeat(REQUESTS_EACH);
  const responses = await Promise.all(Array.from({ length: CONNECTIONS }, () => exchange(port, requests)));
  const responded = responses.flat().filter(({ status }) => status === 200).length;
  if (responded !== CONNECTIONS * REQUESTS_EACH) throw new Error(`only ${responded} requests got a response`);
}
