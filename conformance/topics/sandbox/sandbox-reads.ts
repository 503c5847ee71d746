// Checks the operations of the sandbox on which other checks rely (D12, D18). A sandbox may lack an operation, which is
// then a 404, but an operation must not fail in another way. Also checks rotated secrets, and that a customer belongs
// to one merchant (D19).
import type { Check } from "../../check.ts";
import { expectStatus, holds, same } from "../../steps/expect.ts";
import { dataOf, disbursementBody, get, paid, pays, verifyDisbursement } from "../../steps/requests.ts";
import { moveClock } from "../../steps/sandbox-controls.ts";

const paths = ["/sandbox/clock", "/sandbox/webhook-secret", "/sandbox/events", "/sandbox/deliveries"];
const secret = "/sandbox/webhook-secret";

export const checks: Check[] = [
  {
    name: "Sandbox can be read, or does not exist",
    ids: ["sandbox.reads"],
    effect: "none",
    async run(context) {
      for (const path of paths) {
        const response = await get(context, path);
        expectStatus(context, "sandbox.reads", response, [200, 404], `for ${path}`);
      }
    },
  },
  {
    name: "At most five previous secrets are valid, for a day",
    ids: ["signature.five-secrets"],
    effect: "moves-money",
    // The caller's receivers may rely on the first merchant's secret.
    needs: ["secret", "rotate", "second-key", "clock"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated seven times, and its time moves forward by a day.",
    async run(context) {
      const rotate = { method: "POST", path: `${secret}/rotate`, effect: "moves-money", key: "second" } as const;
      for (let time = 0; time < 7; time += 1) {
        const response = await context.target.send(rotate);
        expectStatus(context, "signature.five-secrets", response, 200, "for a rotation");
      }
      const expectPrevious = async (expected: number, when: string) => {
        const response = await get(context, secret, { key: "second" });
        const { previousSecrets } = dataOf(response);
        const actual = Array.isArray(previousSecrets) ? previousSecrets.length : "no list";
        same(context, "signature.five-secrets", { what: `previous secrets ${when}:`, actual, expected }, response);
      };
      await expectPrevious(5, "after seven rotations");
      await moveClock(context, { seconds: 86_460 }, "second");
      await expectPrevious(0, "a day later");
    },
  },
  {
    name: "Merchants who pay the same number have different customers",
    ids: ["references.customer-own"],
    ...pays(2),
    needs: ["second-key"],
    async run(context) {
      const { phoneNumber } = disbursementBody(context);
      const own = await paid(context, { phoneNumber });
      const other = await paid(context, { phoneNumber }, { key: "second" });
      const record = await verifyDisbursement(context, own.reference);
      const another = await verifyDisbursement(context, other.reference, { key: "second" });
      const [id, otherId] = [record, another].map((response) => (dataOf(response)["customer"] as { id?: unknown })?.id);
      const ok = typeof id === "string" && typeof otherId === "string" && id !== otherId;
      holds(context, "references.customer-own", ok, "a different customer.id", "the same or none", [record, another]);
    },
  },
];
