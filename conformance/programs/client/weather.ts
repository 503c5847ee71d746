// Draws the faults of a bad network.
import { pick, type Random } from "../../generate/random.ts";
import { gateway, type Answer, type Step } from "./answers.ts";

const answers: readonly [Answer, ...Answer[]] = [
  "drop",
  "cut-headers",
  "cut-body",
  "short-body",
  "garbage",
  "someone-elses",
  gateway(200),
  gateway(401),
  gateway(403),
  gateway(404),
  gateway(500),
  gateway(502),
  gateway(503),
  gateway(504),
  { status: 200, body: {} },
  { status: 204 },
];
const processing: readonly [Step["process"], ...Step["process"][]] = ["now", "never", "twice"];

/** The largest number of faults in a row for one kind of request about one payout. */
const mostFaults = 3;

/**
 * Draws the fault of a request; undefined if it has no fault.
 * @param percent how often a request has a fault
 * @param count how many requests there were before it
 */
export function drawFault(random: Random, percent: number, count: number, kind: "create" | "read"): Step | undefined {
  if (count >= mostFaults || random(1, 100) > percent) return undefined;
  return { process: kind === "create" ? pick(random, processing) : "never", answer: pick(random, answers) };
}
