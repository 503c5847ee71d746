// Checks that a payout settles as usual after its first attempts were refused, or its response was lost or late (D17).
// If the response was lost or late, the run learns the payout's reference only from the refusal of another attempt
// (D5), so no other check follows the payout.
import { given, type Check } from "../../check.ts";
import { same } from "../../steps/expect.ts";
import { disbursementBody, pay, pays } from "../../steps/requests.ts";
import { forcing } from "../../steps/sandbox-controls.ts";
import { settledByClock } from "../../steps/settlement.ts";

/** The time limit is shorter than the sandbox's delay of a response. Another check judges the delay. */
const timeoutMs = 1000;
const suffixes = ["503", "504", "408"];

export const checks: Check[] = [
  {
    name: "Payouts with a refused, lost or late response settle",
    ids: ["forced.lost-settles"],
    ...pays(4 + 2 + 2),
    needs: ["forced-outcomes", "clock"],
    async run(context) {
      for (const suffix of suffixes) {
        const body = disbursementBody(context, { phoneNumber: forcing(suffix) });
        // A number that ends in 503 is refused in the first two attempts.
        for (let attempt = 0; attempt < (suffix === "503" ? 3 : 1); attempt += 1) {
          await pay(context, body, { forced: true, timeoutMs });
        }
        const again = await pay(context, body);
        const reference = again.headers["location"]?.split("/").at(-1);
        given(again.status === 409 && reference !== undefined, "409 with the Location of the disbursement", again);
        const { data } = await settledByClock(context, decodeURIComponent(reference));
        const what = `after the settle delay, for a number ending in ${suffix}, status`;
        same(context, "forced.lost-settles", { what, actual: data.status, expected: "success" });
      }
    },
  },
];
