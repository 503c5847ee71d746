// `npm run bench -w client [-- --json]` measures the CPU time per call and compares it with plain openapi-fetch with a
// timeout signal. The client and openapi-fetch take turns. The server runs in another process.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import createFetchClient from "openapi-fetch";
import type { paths } from "../generated/openapi.ts";
import { createClient } from "./index.ts";
import { disbursementCreated, key, disbursementRequest, record } from "./testing/fakes.ts";

const calls = 2000;
const rounds = 15;
const width = 16;

if (process.send) serve();
else await measure();

/** Runs the server, which responds to every request with the same record. */
function serve() {
  const bodies = [disbursementCreated, record].map((data) => Buffer.from(JSON.stringify({ statusCode: 200, data })));
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const body = request.method === "POST" ? bodies[0]! : bodies[1]!;
      response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
}

async function measure() {
  const server = fork(new URL(import.meta.url));
  const [port] = (await once(server, "message")) as [number];
  const baseUrl = `http://127.0.0.1:${port}`;
  const { disbursements } = createClient({ baseUrl, apiKey: key });
  const plain = createFetchClient<paths>({ baseUrl, headers: { "x-api-key": key } });
  const path = { reference: record.reference };

  const create = await compare(
    () => disbursements.create(disbursementRequest),
    () => plain.POST("/v1/disbursements", { body: disbursementRequest, signal: AbortSignal.timeout(15_000) }),
  );
  const verify = await compare(
    () => disbursements.verify(record.reference),
    () => plain.GET("/v1/disbursements/{reference}", { params: { path }, signal: AbortSignal.timeout(15_000) }),
  );
  server.kill();
  print({ create, verify });
}

interface Comparison {
  /** CPU time of this process per call, in µs, as the median of all rounds. */
  client: number;
  openapiFetch: number;
  ratio: number;
}

async function compare(client: () => Promise<unknown>, other: () => Promise<unknown>): Promise<Comparison> {
  const costs = { client: [] as number[], other: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const first = round % 2 ? client : other;
    const second = round % 2 ? other : client;
    const [a, b] = [await cpuOf(first), await cpuOf(second)];
    // The first round is the warm-up.
    if (round === 0) continue;
    costs.client.push(round % 2 ? a : b);
    costs.other.push(round % 2 ? b : a);
  }
  const ratios = costs.client.map((cost, i) => cost / costs.other[i]!);
  return { client: median(costs.client), openapiFetch: median(costs.other), ratio: median(ratios) };
}

/** CPU time per call in µs, with `width` calls in flight. */
async function cpuOf(call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  let left = calls;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await call();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

function median(numbers: number[]): number {
  return Math.round(numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]! * 100) / 100;
}

function print(results: Record<string, Comparison>) {
  if (process.argv.includes("--json")) return console.log(JSON.stringify(results));
  for (const [name, { client, openapiFetch, ratio }] of Object.entries(results)) {
    console.log(`${name}: ${client} µs CPU per call, openapi-fetch with a timeout ${openapiFetch} µs, ratio ${ratio}`);
  }
}
