// Servers that serve a listener incorrectly (D69).
import { type Fault, fault, quickFault } from "../fault.ts";
import { data, instead, refusal, responses, withStatus, type Fields } from "../ways.ts";

const items = (fields: Fields) => fields["items"] as Fields[];
const claims = (change: (item: Fields) => Fields) =>
  data("claimDeliveries", (fields) => ({ ...fields, items: items(fields).map(change) }));
const accepted = (fields: Fields) => ({ ...refusal(200), text: JSON.stringify({ statusCode: 200, data: fields }) });

export const faults: readonly Fault[] = [
  quickFault("listener-claims-nothing", "A listener gets no deliveries.", "listener.attempts", () =>
    data("claimDeliveries", () => ({ items: [] })),
  ),
  fault("listener-claims-unsigned", "The deliveries of a listener are not signed.", "listener.attempts", () =>
    claims((item) => ({ ...item, headers: { "content-type": "application/json" } })),
  ),
  fault("listener-claims-another-body", "The deliveries of a listener have an empty body.", "listener.attempts", () =>
    claims((item) => ({ ...item, body: "{}" })),
  ),
  fault("listener-reports-unlogged", "The attempts that a listener reports are not logged.", "listener.attempts", () =>
    instead(
      "reportAttempt",
      () => true,
      () => accepted({ counted: true, status: "ended" }),
    ),
  ),
  fault("listener-reports-logged-twice", "A repeated report is logged again.", "listener.attempts", () => ({
    storage: (inner) => ({
      // With another token, the report counts as the report of another claim.
      recordAttempt: async (claim, attempt, next) => {
        const counted = await inner.recordAttempt(claim, attempt, next);
        if (!counted) await inner.recordAttempt({ ...claim, token: claim.token + 1_000 }, attempt, next);
        return counted;
      },
    }),
  })),
  fault("listener-replaced-unnoticed", "A listener that was replaced is not told.", "listener.takes-over", () =>
    responses("claimDeliveries", (reply) => (reply.status === 409 ? withStatus(reply, 200) : reply)),
  ),
  fault(
    "listener-keeps-claims",
    "A listener keeps its claims when another listener takes over.",
    "listener.takes-over",
    () => ({
      storage: (inner) => {
        const claimed = new Set<string>();
        return {
          async claimForListener(...which) {
            const found = await inner.claimForListener(...which);
            if (typeof found === "string") return found;
            const fresh = found.filter(({ event }) => !claimed.has(event.id));
            for (const { event } of fresh) claimed.add(event.id);
            return fresh;
          },
        };
      },
    }),
  ),
];
