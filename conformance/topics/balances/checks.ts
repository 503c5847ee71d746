// Checks balances and statements (D87). Each check uses a currency of its own, so that no other check changes its sums.
import { judges, type Context, type Check } from "../../check.ts";
import { expectStatus } from "../../steps/expect.ts";
import { listed } from "../../steps/responses.ts";
import { dataOf } from "../../target/exchange.ts";
import { disbursementBody } from "../../steps/bodies.ts";
import { get, listNamed, pay } from "../../steps/requests.ts";
import { paid } from "../../steps/records.ts";
import { numberOf, textOf } from "../../target/values.ts";

const CURRENCIES = { sums: "XTS", refused: "XUA" };

const inCurrency = <T extends Record<string, unknown>>(items: readonly T[], currency: unknown) =>
  items.filter((item) => item["currency"] === currency);

/** Sets a balance, which the target enforces by default. Returns undefined if the target has no such operation. */
async function setBalance(context: Context, currency: unknown, available: number, enforced = true) {
  const json = { currency, available, enforced };
  const response = await context.target.send({ method: "PUT", path: "/sandbox/balance", effect: "moves-money", json });
  return response.status === 404 || response.status === 405 ? undefined : response;
}

export const checks: readonly Check[] = [
  judges("balances.statement-sums", { pays: 2, alone: true }, async (context, id) => {
    const first = await paid(context, { currency: CURRENCIES.sums });
    const second = await paid(context, { currency: CURRENCIES.sums });
    const balances = await get(context, "/v1/balances");
    const statement = await get(context, "/v1/statements?limit=100");
    const entries = inCurrency(listed(statement), first.body["currency"]);
    const [account] = inCurrency(listed(balances), first.body["currency"]);
    const newest = entries[0]?.["balance"];
    const isSame = newest !== undefined && newest === account?.["available"];
    context.judge(id, isSame, `a newest balance of ${textOf(account?.["available"])}, as GET /v1/balances`, statement);
    const isConsistent = entries.every(({ amount, balance }, index) => {
      const older = entries[index + 1]?.["balance"];
      return older === undefined || balance === numberOf(older) + numberOf(amount);
    });
    context.judge(id, isConsistent, "each balance equal to the older balance plus the amount", statement);
    for (const { reference, data } of [first, second]) {
      const cost = data.status === "failed" ? 0 : data.amount + data.fee;
      const own = entries.filter((entry) => entry["reference"] === reference);
      const spent = own.reduce((sum, { amount }) => sum - numberOf(amount), 0);
      const what = `entries of ${reference} that take its amount and fee, ${cost}, from the balance`;
      context.judge(id, own.length > 0 && spent === cost, what, statement);
    }
  }),
  judges(
    "balances.insufficient-funds",
    {
      pays: 2,
      alone: true,
      leaves: "entries in the statement of one currency, XUA if the target serves it, for the balance that it sets",
    },
    async (context, id) => {
      const body = disbursementBody(context, { currency: CURRENCIES.refused });
      const { currency, amount, reference } = body;
      const [before] = inCurrency(listed(await get(context, "/v1/balances")), currency);
      const set = await setBalance(context, currency, numberOf(amount) - 1);
      if (!set) return context.notApplicable(id, "the target has no PUT /sandbox/balance");
      try {
        expectStatus(context, id, set, 200, "for PUT /sandbox/balance");
        const refused = await pay(context, body);
        const { code } = (refused.json ?? {}) as { code?: unknown };
        const isRefused = refused.status === 422 && code === "insufficient_funds";
        const expected = "422 with the code insufficient_funds for a disbursement above the balance";
        context.judge(id, isRefused, expected, refused);
        const found = await listNamed(context, "disbursements", reference);
        const isAbsent = found.status === 200 && listed(found).length === 0;
        context.judge(id, isAbsent, "a list without the refused disbursement", found);
        await setBalance(context, currency, 1_000_000_000);
        const accepted = await pay(context, body);
        const isNew = accepted.status === 200 && dataOf(accepted)["merchantsReference"] === reference;
        context.judge(id, isNew, "200 for the same disbursement once the balance covers it", accepted);
      } finally {
        const available = Math.min(Math.max(numberOf(before?.["available"] ?? 0), 0), Number.MAX_SAFE_INTEGER);
        await setBalance(context, currency, available, before?.["enforced"] === true);
      }
    },
  ),
];
