// Servers with faults in the replay of deliveries (D18, D13).
import { ServiceError } from "../../../server/domain/errors.ts";
import { type Fault, fault } from "../fault.ts";
import { instead, isAccepted, isOf, keyOf, lastPart, refusal, responses, withKey, withStatus } from "../ways.ts";

export const faults: readonly Fault[] = [
  fault("replay-nothing", "A replay sends nothing.", "sandbox.replay", () =>
    instead(
      "replayDelivery",
      () => true,
      () => ({ ...refusal(200), text: '{"statusCode":200,"data":{}}' }),
    ),
  ),
  fault("replay-404", "Replaying a delivery returns 404.", "sandbox.replay", () =>
    instead(
      "replayDelivery",
      () => true,
      (_, call) => refusal(lastPart(call) === "replay" ? 404 : 200),
    ),
  ),
  fault("replay-under-other-id", "A replay has another webhook-id.", "sandbox.replay", () => {
    const seen = new Set<string>();
    return {
      webhook(message, deliver) {
        const id = message.headers["webhook-id"] ?? "";
        const again = seen.has(id);
        seen.add(id);
        return deliver({
          ...message,
          headers: { ...message.headers, "webhook-id": again ? id.replace(/.$/, "z") : id },
        });
      },
    };
  }),
  fault(
    "replay-409-while-waiting",
    "A delivery that waits for its next attempt cannot be replayed.",
    "sandbox.replay",
    () => ({
      storage: (inner) => {
        const waiting = new Set<string>();
        return {
          async recordAttempt(claim, attempt, outcome) {
            if (outcome.status === "pending") waiting.add(claim.id);
            else waiting.delete(claim.id);
            return inner.recordAttempt(claim, attempt, outcome);
          },
          async requestReplay(merchantId, id, actor) {
            if (waiting.has(id)) throw new ServiceError("delivery_in_progress", "The delivery waits.");
            return inner.requestReplay(merchantId, id, actor);
          },
        };
      },
    }),
  ),
  fault("replay-unknown-500", "A replay of an unknown delivery causes a 500.", "sandbox.replay", () =>
    responses("replayDelivery", (reply) => (reply.status === 404 ? withStatus(reply, 500) : reply)),
  ),
  fault(
    "replay-refused-too-late",
    "A merchant's replay of another merchant's delivery is refused, but made.",
    "uniqueness.merchants-apart",
    (world) => ({
      async handle(call, ask) {
        if (!isOf(call, "replayDelivery") || keyOf(call) !== world.secondKey) return ask(call);
        await ask(withKey(call, world.key));
        return refusal(404);
      },
    }),
  ),
  fault(
    "replay-accepted-in-progress",
    "A replay is accepted while an attempt is in progress.",
    "sandbox.replay-in-progress",
    () => responses("replayDelivery", (reply) => (isAccepted(reply) ? reply : withStatus(reply, 200))),
  ),
];
