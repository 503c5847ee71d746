import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { API_KEY, type Target } from "./target.ts";

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

/** Returns a function that sends one request and resolves with its latency in milliseconds. @throws Error unless it gets 200 */
export function sender(pool: Pool, { method, path, body }: Request): () => Promise<number> {
  const headers = { "x-api-key": API_KEY, ...(body && { "content-type": "application/json" }) };
  return async () => {
    const sent = performance.now();
    const response = await pool.request({ method, path, headers, body: body?.() ?? null });
    await response.body.dump();
    if (response.statusCode !== 200) throw new Error(`${method} ${path} returned ${response.statusCode}`);
    return performance.now() - sent;
  };
}

/** Sends `amount` requests over 64 connections. */
export async function load(target: Target, amount: number, request: Request): Promise<Measured> {
  const pool = new Pool(target.url, { connections: CONNECTIONS });
  const send = sender(pool, request);
  const latencies: number[] = [];
  let left = amount;
  async function connection() {
    while (left-- > 0) latencies.push(await send());
  }
  const cpuBefore = target.cpuMs();
  const start = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  const seconds = (performance.now() - start) / 1_000;
  const cpuPerRequest = ((target.cpuMs() - cpuBefore) * 1_000) / amount;
  await pool.close();
  return { perSecond: amount / seconds, cpuPerRequest, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

/**
 * Sends at a constant rate, however long responses take, for some seconds or until `isOver`. Returns the results in the
 * order of the requests.
 */
export async function atRate<T>(
  perSecond: number,
  seconds: number,
  send: () => Promise<T>,
  isOver: () => boolean = () => false,
): Promise<T[]> {
  const sent: Promise<T>[] = [];
  for (const begun = performance.now(); sent.length < perSecond * seconds && !isOver(); await sleep(5)) {
    const due = Math.min(perSecond * seconds, ((performance.now() - begun) / 1_000) * perSecond);
    while (sent.length < due) sent.push(send());
  }
  return Promise.all(sent);
}

export const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);

export const quantile = (values: readonly number[], share: number): number =>
  sorted(values)[Math.ceil(values.length * share) - 1]!;

export const middle = (values: readonly number[]) => quantile(values, 0.5);

/** The median of each figure. */
export function median(rounds: readonly Measured[]): Measured {
  const of = (figure: keyof Measured) => middle(rounds.map((round) => round[figure]));
  return { perSecond: of("perSecond"), cpuPerRequest: of("cpuPerRequest"), p50: of("p50"), p99: of("p99") };
}

/** Divides a figure by that of the base in each round. Returns the median of these ratios. */
export const medianRatio = (rounds: readonly Measured[], base: readonly Measured[], figure: keyof Measured): number =>
  middle(rounds.map((measured, round) => measured[figure] / base[round]![figure]));

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
  const { path, method, body } = payout();
  const headers = { "x-api-key": API_KEY, "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers, body: body!() });
  return ((await response.json()) as { data: { reference: string } }).data.reference;
}
