// Runs the suite against a variant of the reference receiver.
import { startReceiver, type Variant } from "./reference.ts";
import { runReceiver } from "../../programs/receiver/run.ts";
import type { Limits } from "../../programs/receiver/context.ts";

const secrets = [
  "whsec_cmVjZWl2ZXItdHJpYWwtc2VjcmV0LTAwMDAwMDE=",
  "whsec_cmVjZWl2ZXItdHJpYWwtc2VjcmV0LTAwMDAwMDI=",
] as const;
/** The limits are short, because longer limits would not change the findings. */
const limits: Limits = { timeoutMs: 10_000, settleMs: 5000, pieceMs: 20, repeatMs: 400 };
const brokenSettleMs = 700;

export type Trial = {
  /** The violated requirements that no scenario reported; for a sound receiver, every requirement that was reported. */
  wrong: string[];
  errors: string[];
  verdict: string;
};

/** Runs the scenarios that must catch a broken receiver, or all scenarios against a sound receiver. */
export async function tryVariant({ violates, pieces, limits: own }: Variant): Promise<Trial> {
  const isSound = violates.length === 0;
  const receiver = await startReceiver(secrets, pieces);
  try {
    const { errors, requirements, verdict } = await runReceiver({
      subject: receiver.subject,
      secrets,
      limits: { ...limits, ...(isSound ? {} : { settleMs: brokenSettleMs }), ...own },
      seed: 20_261_122,
      runId: "trial",
      ...(isSound ? {} : { only: [...violates] }),
    });
    const caught = requirements.filter(({ verdict: found }) => found === "fail" || found === "warn");
    const missed = violates.filter((id) => !caught.some((requirement) => requirement.id === id));
    const alarms = requirements
      .filter(({ verdict: found }) => found !== "pass")
      .map(({ id, checks }) => {
        const worst = checks.find((check) => check.verdict !== "pass");
        return `${id}: ${worst?.name}: expected ${worst?.expected}, got ${worst?.actual}`;
      });
    return { wrong: isSound ? alarms : missed, errors, verdict };
  } finally {
    await receiver.stop();
  }
}
