// Puts sound deployments in front of a service with several faults. A deployment may limit amounts or be late. This
// must not hide faults that no service may have.
import { allFailed, runAgainst } from "./catch.ts";
import { faults } from "./faults.ts";
import type { How } from "./fault.ts";
import type { SoundServer } from "./sound-server.ts";

/** One fault of each class. No fault hides another fault. */
const crossed = [
  "race-paid-twice",
  "accepts-phone-short",
  "create-without-key",
  "notified-in-major-units",
  "currency-of-country",
].map((id) => faults.find((fault) => fault.id === id)!);
const ids = crossed.flatMap(({ violates }) => violates);

/** Combines two servers: requests and webhooks pass through `outer`, then through `inner`. */
const both =
  (outer: How, inner: How): How =>
  (world) => {
    const [first, second] = [outer(world), inner(world)];
    const { handle = (call, ask) => ask(call), webhook = (message, deliver) => deliver(message) } = first;
    return {
      ...second,
      ...first,
      env: { ...second.env, ...first.env },
      handle: (call, ask) => handle(call, async (each) => (second.handle ? second.handle(each, ask) : ask(each))),
      webhook: (message, deliver) =>
        webhook(message, (each) => (second.webhook ? second.webhook(each, deliver) : deliver(each))),
      storage(storage) {
        const changed = { ...storage, ...second.storage?.(storage) };
        return { ...changed, ...first.storage?.(changed) };
      },
    };
  };

/**
 * Returns how many of the violated requirements failed, and the requirements whose violation a sound deployment hides.
 */
export async function crossWith(server: SoundServer): Promise<{ shown: string; hidden: string[] }> {
  const how = crossed.map((fault) => fault.how).reduce((inner, outer) => both(outer, inner));
  const trial = { only: ids, enough: allFailed(ids) };
  const report = await runAgainst({ ...server, how: both(server.how, how) }, "core", trial);
  const violated = report.requirements.filter(({ id }) => ids.includes(id));
  const failed = violated.filter(({ verdict }) => verdict === "fail");
  const hidden = violated
    .filter(({ verdict, reason }) => !["fail", "could-not-run"].includes(verdict) && reason?.code !== "caller")
    .map(({ id, verdict }) => `${id}: ${verdict}`);
  return { shown: `${failed.length} of ${ids.length} violations failed`, hidden };
}
