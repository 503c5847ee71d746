// Mutants whose responses are wrong or contradict each other.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const merchant = editing("merchant.ts");
const webhook = editing("webhooks.ts");

const success = "return c.json({ statusCode: 200, data });";
const finished = "Object.assign(payment, { status, updatedAt: iso(at) });";
const verified = "({ merchant, id }) => found(merchant.state.disbursements.find(id))";

export const statuses: readonly Mutant[] = [
  merchant(
    "status-flips",
    "A success turns into a failure later.",
    finished,
    `${finished} if (status === "success") this.state.agenda.schedule(at + 500, () => void (payment.status = "failed"));`,
  ),
  merchant(
    "status-returns",
    "A settled payout is pending again later.",
    finished,
    `${finished} this.state.agenda.schedule(at + 1500, () => void (payment.status = "pending"));`,
  ),
  app(
    "record-other-status",
    "Verify says success for failed payouts.",
    verified,
    `(asked) => { const record = (${verified})(asked); return { ...record, status: record.status === "failed" ? "success" : record.status }; }`,
  ),
  app(
    "record-lost-after-failure",
    "Failed payouts cannot be verified.",
    verified,
    "({ merchant, id }) => found(merchant.state.disbursements.records.find((one) => one.reference === id && one.status !== 'failed'))",
  ),
  app(
    "record-lost-by-age",
    "Only the last 25 payouts can be verified.",
    verified,
    "({ merchant, id }) => found(merchant.state.disbursements.records.slice(-25).find((one) => one.reference === id))",
  ),
  app(
    "record-new-id",
    "A record's id changes with each look.",
    verified,
    `(asked) => ({ ...(${verified})(asked), id: randomUUID() })`,
  ),
  app(
    "record-new-date",
    "A record's creation date is the time of the look.",
    verified,
    `(asked) => { const now = iso(asked.merchant.state.agenda.now()); return { ...(${verified})(asked), createdAt: now, updatedAt: now }; }`,
  ),
  app(
    "created-201",
    "A create returns 201.",
    success,
    "return c.json({ statusCode: 200, data }, c.req.path.endsWith('disbursements') && c.req.method === 'POST' ? 201 : 200);",
  ),
  app(
    "statuscode-other",
    "Errors have a statusCode of 400.",
    "return c.json(problem.body,",
    "return c.json({ ...problem.body, statusCode: 400 },",
  ),
  webhook(
    "dates-without-ms",
    "Dates have no milliseconds.",
    "new Date(time).toISOString();",
    'new Date(time).toISOString().replace(/\\.\\d+/, "");',
  ),
];
