import { randomInt, randomUUID } from "node:crypto";
import { Pool } from "undici";
import type { Target } from "./target.ts";

export const API_KEY = "benchmark-key-0000";
const CONNECTIONS = 64;

export interface Measured {
  perSecond: number;
  /** CPU time of the server per request, in microseconds. */
  cpuPerRequest: number;
  /** Latencies in milliseconds. */
  p50: number;
  p99: number;
}

export interface Request {
  method: "GET" | "POST";
  path: string;
  /** Returns the body of the next request. */
  body?: () => string;
}

/** Sends `amount` requests over 64 connections. @throws Error if a response is not 200 */
export async function load(
  target: Pick<Target, "name" | "url" | "cpuMs">,
  amount: number,
  { method, path, body }: Request,
): Promise<Measured> {
  const pool = new Pool(target.url, { connections: CONNECTIONS });
  const headers = { "x-api-key": API_KEY, ...(body && { "content-type": "application/json" }) };
  const latencies: number[] = [];
  let left = amount;
  async function connection() {
    while (left-- > 0) {
      const sent = performance.now();
      const response = await pool.request({ method, path, headers, body: body?.() ?? null });
      await response.body.dump();
      latencies.push(performance.now() - sent);
      if (response.statusCode !== 200) throw new Error(`${target.name} returned ${response.statusCode} for ${path}`);
    }
  }
  const cpuBefore = target.cpuMs();
  const start = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  const seconds = (performance.now() - start) / 1_000;
  const cpuPerRequest = ((target.cpuMs() - cpuBefore) * 1_000) / amount;
  await pool.close();
  const sorted = latencies.toSorted((a, b) => a - b);
  return { perSecond: amount / seconds, cpuPerRequest, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}

/** @param sorted in ascending order */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.ceil(sorted.length * share) - 1]!;

const middle = (values: readonly number[]) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

/** The median of each figure. */
export function median(rounds: readonly Measured[]): Measured {
  const of = (figure: keyof Measured) => middle(rounds.map((round) => round[figure]));
  return { perSecond: of("perSecond"), cpuPerRequest: of("cpuPerRequest"), p50: of("p50"), p99: of("p99") };
}

/** The median of the ratios within each round. */
export const medianRatio = (ones: readonly Measured[], others: readonly Measured[], figure: keyof Measured): number =>
  middle(ones.map((one, round) => one[figure] / others[round]![figure]));

/** The number of one of 100,000 recipients. The sandbox forces no outcome for numbers that end in 473 (D17). */
const phoneNumber = () => `22507${String(randomInt(100_000)).padStart(5, "0")}473`;

/** A valid create with a unique, random reference. */
export const payout = (webhookURL?: string): Request => ({
  method: "POST",
  path: "/v1/disbursements",
  body: () =>
    JSON.stringify({
      reference: randomUUID(),
      amount: 10_000,
      phoneNumber: phoneNumber(),
      country: "CI",
      currency: "XOF",
      webhookURL,
    }),
});

export const verify = (reference: string): Request => ({ method: "GET", path: `/v1/disbursements/${reference}` });

/** Creates one disbursement and returns the service's reference. */
export async function oneReference({ url }: Target): Promise<string> {
  const response = await fetch(`${url}/v1/disbursements`, {
    method: "POST",
    headers: { "x-api-key": API_KEY, "content-type": "application/json" },
    body: payout().body!(),
  });
  const { data } = (await response.json()) as { data: { reference: string } };
  return data.reference;
}
