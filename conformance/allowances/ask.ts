// Asks a target for its limits, with payouts whose values a deployment may refuse (D45).
import { describeResponse } from "../check.ts";
import { homeOf } from "../generate/countries.ts";
import { createRandom } from "../generate/random.ts";
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";
import { BudgetExceeded } from "../target/budget.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import type { Declaration } from "./declaration.ts";
import { measureDelays } from "./delays.ts";
import type { Answer, Answers } from "./file.ts";
import { freshReference } from "./fit.ts";
import { isCleanRefusal } from "./gate.ts";
import type { Limits } from "./limits.ts";
import { questions, type Question } from "./questions.ts";
import type { Search } from "./search.ts";

type Fields = Record<string, unknown>;
type Field = keyof Declaration;

/** A payout that was sent to find a limit. */
type Attempt = { fields: Fields; response: TargetResponse };

/** Thrown if the target refuses an ordinary payout, so that nothing can be asked. */
export class NotAsked extends Error {}

/** Thrown if an ordinary payout is refused after others were accepted. */
class Throttled extends Error {}

type Deps = { target: Target; limits: Limits; now: () => Date; sleep: (ms: number) => Promise<void> };

const isAccepted = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;
const isPaid = ({ response }: Attempt) => isAccepted(response);

const line = ({ label }: Question, { fields, response }: Attempt, recipient: string) =>
  `${label(fields, recipient)} → ${response.status ?? "no response"}`;

/** Returns the attempts on both sides of the limit if the question is about a size, otherwise all of them. */
function evidenceOf(question: Question, attempts: readonly Attempt[], recipient: string): string {
  const { size } = question;
  const bySize = size && attempts.toSorted((a, b) => size(a.fields, recipient) - size(b.fields, recipient));
  const shown = bySize
    ? [bySize.findLast(isPaid), bySize.find((attempt) => !isPaid(attempt))].filter((attempt) => attempt !== undefined)
    : attempts;
  return `POST /v1/disbursements with ${[...new Set(shown.map((attempt) => line(question, attempt, recipient)))].join("; ")}.`;
}

/** Says for each field of a question what its attempts show. */
function answersTo(question: Question, found: Declaration, attempts: readonly Attempt[], recipient: string): Answers {
  const evidence = evidenceOf(question, attempts, recipient);
  const unclean = attempts.find((attempt) => !isPaid(attempt) && !isCleanRefusal(attempt.response));
  const answer = (field: Field): Answer => {
    if (unclean)
      return { text: `Not declared, because this is not a clean refusal: ${line(question, unclean, recipient)}.` };
    if (found[field] !== undefined)
      return { value: found[field], text: `Found: ${evidence} ${question.note ?? ""}`.trim() };
    const conclusion = attempts.some(isPaid) ? "No limit found" : "Not declared, because other values are refused too";
    return { text: `${conclusion}: ${evidence}` };
  };
  return Object.fromEntries(question.fields.map((field) => [field, answer(field)]));
}

const forAll = (fields: readonly Field[], text: string): Answers =>
  Object.fromEntries(fields.map((field) => [field, { text }]));

const throttledText =
  "Not asked, because the target refused an ordinary payout after it had accepted others. It probably limits the number of payouts: see velocity.";

/** Says what the statuses of a run of payouts show about their permitted number. */
function velocityAnswer(limited: number, throttled: string | undefined): Answer {
  if (throttled !== undefined) return { text: `Fill this in by hand: ${throttled}` };
  if (limited === 0) return { text: "Not asked. If the deployment limits payouts, fill this in by hand." };
  return {
    text: `The target returned 429 ${limited} times. A run waits and retries after a 429, so this is not needed.`,
  };
}

/** Returns functions that send payouts, and remembers each. */
async function createSearch(options: RunOptions, { target }: Deps) {
  const { recipient, runId } = options;
  const attempts: Attempt[] = [];
  let references = 0;
  let amount = 100;
  const ordinary = (): Fields => ({
    reference: freshReference(runId, (references += 1)),
    amount,
    ...homeOf(recipient),
    phoneNumber: recipient,
  });
  const send = (json: Fields) =>
    target.send({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json });
  let first = await send(ordinary());
  // A target whose smallest amount is larger than 100 accepts this amount.
  if (isCleanRefusal(first)) first = await send({ ...ordinary(), amount: (amount = 10_000) });
  if (!isAccepted(first)) {
    const why = target.redact(describeResponse(first));
    throw new NotAsked(`the target refuses an ordinary payout: ${why}. Give a --recipient PHONE that it serves.`);
  }
  const search: Search = {
    ordinary,
    recipient,
    random: createRandom(options.seed, "limits"),
    safe: allowsMadeUpNumbers(options),
    affordable: () => (target.budget.maxTotal - target.budget.total) / 4,
    async attempt(fields) {
      const response = await send(fields);
      attempts.push({ fields, response });
      return isAccepted(response);
    },
  };
  return { search, attempts, send: () => send(ordinary()) };
}

/**
 * Asks the target for its limits.
 * @throws NotAsked if the target refuses an ordinary payout
 * @throws RunStopped if the target stops responding
 */
export async function askLimits(options: RunOptions, deps: Deps): Promise<Answers> {
  const { target } = deps;
  let limited = 0;
  target.onResponse(({ status }) => void (limited += status === 429 ? 1 : 0));
  const { search, attempts, send } = await createSearch(options, deps);
  const answers: Answers = {};
  let throttled: string | undefined;

  async function ask(question: Question): Promise<Answers> {
    if (question.needsSafety && !search.safe)
      return forAll(question.fields, "Not asked, because made-up phone numbers are only used on a sandbox.");
    attempts.length = 0;
    const found = await question.ask(search, answers);
    if (attempts.length === 0) return forAll(question.fields, "Not asked, because --max-total is too small.");
    // If an ordinary payout is refused now, the refusals above may have had the same reason.
    if (!attempts.every(isPaid) && !isAccepted(await send())) throw new Throttled();
    return answersTo(question, found, attempts, options.recipient);
  }

  /** Adds the answers of `run`, or says why there are none. */
  async function collect(fields: readonly Field[], run: () => Promise<Answers>) {
    try {
      Object.assign(answers, throttled === undefined ? await run() : forAll(fields, throttledText));
    } catch (error) {
      if (error instanceof Throttled) {
        throttled = `after ${target.budget.payouts} payouts, the target refused an ordinary one.`;
        Object.assign(answers, forAll(fields, throttledText));
      } else if (error instanceof BudgetExceeded) {
        Object.assign(answers, forAll(fields, `Not asked: ${error.message} (--max-payouts, --max-total).`));
      } else throw error;
    }
  }

  for (const question of questions) await collect(question.fields, () => ask(question));
  await collect(["readAfterWriteMs", "settlementSeconds"], () => measureDelays(options, deps, send));
  return { ...answers, velocity: velocityAnswer(limited, throttled) };
}
