import { RailError, type Rail, type RailAnswer, type RailPayment, type Rails } from "../domain/rails.ts";

/** With an error, the request never reaches the rail. A function runs after the payment was recorded, for example to lose the response. */
type Answer = RailAnswer | Error | (() => Promise<RailAnswer>);

/** A rail in memory, whose answers a test decides. */
export interface TestRail extends Rail {
  /** What the rail has received, by our reference, with the number of requests to pay. */
  ledger: Map<string, { payment: RailPayment; answer: RailAnswer; asked: number }>;
  /** What the next calls of `pay` and `collect` do. After these calls, every payment succeeds immediately. */
  answers: Answer[];
  /** What the next calls of `find` do. After these calls, the ledger decides. */
  found: (RailAnswer | "missing" | "unsearchable" | Error)[];
}

/** @param usual what a call does unless a test has decided it */
export function createTestRail(usual: RailAnswer = { status: "success" }): TestRail {
  const ledger: TestRail["ledger"] = new Map();
  const answers: Answer[] = [];
  const found: TestRail["found"] = [];

  /** Pays a reference once. */
  async function take(payment: RailPayment, url?: string): Promise<RailAnswer> {
    const next = answers.shift();
    if (next instanceof Error) throw next;
    const known = ledger.get(payment.reference);
    if (known) known.asked += 1;
    const answer: RailAnswer = {
      ...(typeof next === "object" ? next : usual),
      railReference: `R-${payment.reference}`,
      ...(url !== undefined && { url }),
    };
    if (!known) ledger.set(payment.reference, { payment, answer, asked: 1 });
    return typeof next === "function" ? next() : (known?.answer ?? answer);
  }

  return {
    ledger,
    answers,
    found,
    pay: (payment) => take(payment),
    collect: (payment) => take(payment, `https://rail.example/pay/${payment.reference}`),
    async find({ reference }) {
      const next = found.shift();
      if (next instanceof Error) throw next;
      return next ?? ledger.get(reference)?.answer ?? "missing";
    },
    async *list({ from, to }) {
      for (const { payment, answer } of ledger.values())
        if (payment.createdAt >= from && payment.createdAt < to) yield { ...payment, ...answer };
    },
    /** Reads the reference from the query or the body. */
    async receive({ body, query }) {
      const text = Buffer.from(body).toString();
      if (text === "not signed") throw new RailError("This is not signed.");
      const reference = query.get("reference");
      return { ...(JSON.parse(text) as { reference: string; answer?: RailAnswer }), ...(reference && { reference }) };
    },
  };
}

/**
 * The rail that `rails.yaml` names, for a server in a process of its own.
 * @public
 */
export default (): Rail => createTestRail();

/** Settings with a single rail for all payments except those in USD, which have no route. */
export const railsOf = (rail: Rail): Rails => ({
  names: ["test"],
  get: (name) => (name === "none" ? undefined : rail),
  routeOf: ({ currency }) => (currency === "USD" ? undefined : "test"),
  rateOf: () => undefined,
  close: async () => rail.close?.(),
});
