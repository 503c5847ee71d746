// The model as a target without sandbox controls, whose payouts succeed at once. Tests add faults; with a fault it must not
// be certified.
import { setTimeout as sleep } from "node:timers/promises";
import { keyOf } from "../broken/calls.ts";
import { forwards, handles } from "../broken/changes.ts";
import { hooksOf, joined, type Call, type How } from "../broken/fault.ts";
import { refusal, success, withBody } from "../broken/replies.ts";
import { newKey, startModel } from "../model/server.ts";

type Settings = {
  key: string;
  /** Another merchant's key. */
  secondKey?: string;
  /** The secret that /sandbox/webhook-secret returns. If undefined, that path returns 404. */
  secret?: string;
  /** The path before /v1. */
  prefix?: string;
  /** The environment that /healthz returns. If undefined, that path returns 404. */
  environment?: "sandbox" | "live";
  /** The fault. */
  how?: How;
};

const settlesAtOnce: How = () => ({ settings: { sandbox: false, settleMs: 0 } });

/** Starts the service on a free port. `seen` has the requests received so far. */
export async function startSoundTarget(settings: Settings) {
  const { key, secondKey = newKey(), secret, prefix = "", environment, how = () => ({}) } = settings;
  const seen: Call[] = [];
  const receives = forwards((received) => {
    const call = { ...received, path: received.path.replace(prefix, "") };
    seen.push(call);
    return call;
  });
  const shows = handles(async (call, ask) => {
    if (call.path === "/healthz") return environment ? withBody(success({}), { environment }) : refusal(404);
    const isSecret = call.path === "/sandbox/webhook-secret" && [key, secondKey].includes(keyOf(call));
    return isSecret && secret !== undefined ? success({ secret }) : ask(call);
  });
  const world = { key, secondKey, sleep: (ms: number) => sleep(ms), oldAge: 2000 };
  const model = await startModel(hooksOf(joined(receives, how, shows, settlesAtOnce), world), [key, secondKey]);
  return { ...model, url: model.url + prefix, seen };
}
