// Measures how soon a new payout can be read, and how soon it is final.
import type { CheckOptions } from "../run-options.ts";
import { dataOf, type TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { BudgetExceeded } from "../target/budget.ts";
import { notAfforded, type Answer, type Answers } from "./file.ts";
import type { Limits } from "./limits.ts";

type Deps = { target: Target; limits: Limits; now: () => Date; sleep: (ms: number) => Promise<void> };

/** The largest value of readAfterWriteMs for which init waits. */
const longestUnreadMs = 10_000;
const granularityMs = 500;

const unmeasured = (answer: Answer): Answers => ({ readAfterWriteMs: answer, settlementSeconds: answer });

/** Makes a payout and reads it until its status is final, or for as long as the options permit. */
export async function measureDelays(
  options: CheckOptions,
  { target, limits, now, sleep }: Deps,
  pay: () => Promise<TargetResponse>,
): Promise<Answers> {
  let payout: TargetResponse;
  try {
    payout = await pay();
  } catch (error) {
    if (error instanceof BudgetExceeded) return unmeasured(notAfforded(error));
    throw error;
  }
  if (payout.status !== 200)
    return unmeasured({ text: `Not measured, because a payout was refused with ${payout.status ?? "no response"}.` });
  const reference = encodeURIComponent(String(dataOf(payout)["reference"]));
  const start = now().getTime();
  const elapsed = () => now().getTime() - start;
  const read = () => target.send({ method: "GET", path: `/v1/disbursements/${reference}` });

  let record = await read();
  // The target repeats a read that finds no record for up to two seconds, and records the delay.
  const late = record.status === 404 || limits.found.readAfterWriteMs !== undefined;
  for (; record.status === 404 && elapsed() < longestUnreadMs; record = await read()) await sleep(granularityMs);
  const readAfterWriteMs = readAnswer(record, limits.found.readAfterWriteMs ?? elapsed(), late);
  if (record.status !== 200)
    return { readAfterWriteMs, settlementSeconds: { text: "Not measured: see readAfterWriteMs." } };

  for (let pause = 100; dataOf(record)["status"] === "pending" && elapsed() < options.settleTimeoutMs; pause *= 1.2) {
    await sleep(Math.min(pause, 2000));
    record = await read();
  }
  return { readAfterWriteMs, settlementSeconds: settledAnswer(dataOf(record)["status"], elapsed()) };
}

function readAnswer({ status }: TargetResponse, delayMs: number, late: boolean): Answer {
  const request = "GET /v1/disbursements/{reference}";
  if (status !== 200) {
    const seconds = Math.ceil(delayMs / 1000);
    return { text: `Not declared: ${request} → ${status ?? "no response"} until ${seconds} s after a payout.` };
  }
  if (!late) return { text: `No delay found: ${request} → 200 immediately after a payout.` };
  const value = Math.ceil(delayMs / granularityMs) * granularityMs;
  return { value, text: `Measured with one payout: ${request} → 404 at first and 200 after at most ${value} ms.` };
}

function settledAnswer(status: unknown, elapsedMs: number): Answer {
  const seconds = Math.max(1, Math.ceil(elapsedMs / 1000));
  const text =
    status === "pending"
      ? `Not measured: a payout was still pending after ${seconds} s. Raise --settle-timeout to wait longer.`
      : `Measured with one payout: its status was ${String(status)} after ${seconds} s. Raise the value if others take longer.`;
  return status === "pending" ? { text } : { value: seconds, text };
}
