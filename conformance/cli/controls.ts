// Finds out which sandbox controls (D18) a target has, by trying each with a request that cannot change anything.
import type { Control, RunOptions } from "../run-options.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";

/** Controls that a GET reads. */
const readable: Partial<Record<Control, string>> = {
  time: "/sandbox/clock",
  events: "/sandbox/events?limit=1",
  deliveries: "/sandbox/deliveries?limit=1",
  secret: "/sandbox/webhook-secret",
  chaos: "/sandbox/chaos",
};

/** Returns true if the response is an envelope with data. Whether the data is right is for a check to judge. */
const isEnvelope = ({ status, json }: TargetResponse) => {
  const { data } = (json ?? {}) as { data?: unknown };
  return status === 200 && typeof data === "object" && data !== null;
};

/**
 * Controls that a POST uses. `body` lacks what the control needs, so that a target refuses it. A control without a body
 * would act on any POST, so no POST is sent.
 */
const usable: Partial<Record<Control, { path: string; body?: Record<string, unknown> }>> = {
  clock: { path: "/sandbox/clock/advance", body: {} },
  finish: { path: "/sandbox/checkouts/certify-unknown/finish", body: {} },
  replay: { path: "/sandbox/deliveries/certify-unknown/replay" },
  rotate: { path: "/sandbox/webhook-secret/rotate" },
  reset: { path: "/sandbox/reset" },
  listener: { path: "/sandbox/listener", body: {} },
};

/** A path that no target has. A control must respond differently. */
const nowhere = "/sandbox/certify-unknown/nothing";

/** Returns true if the response shows that something handles this path: it accepts the request or finds it invalid. */
const handles = ({ status = 0 }: TargetResponse) =>
  (status >= 200 && status < 300) || [400, 409, 413, 415, 422].includes(status);

/**
 * Returns the controls that the target has. A GET shows a control by its content, or by a 405 where only a POST is
 * allowed; an invalid POST shows it by its refusal. The latter is not sent with `--effects none`.
 */
export async function findControls(target: Target, effects: RunOptions["effects"]): Promise<Control[]> {
  const get = (path: string) => target.send({ method: "GET", path });
  const post = (path: string, json: unknown) =>
    effects === "none" ? undefined : target.send({ method: "POST", path, json, effect: "must-be-rejected" });
  const [unknown, refused] = await Promise.all([get(nowhere), post(nowhere, {})]);
  const found: Promise<[Control, boolean]>[] = [
    ...Object.entries(readable).map(async ([control, path]): Promise<[Control, boolean]> => [
      control as Control,
      isEnvelope(await get(path)),
    ]),
    ...Object.entries(usable).map(async ([control, { path, body }]): Promise<[Control, boolean]> => {
      const response = body && (await post(path, body));
      if (response && response.status !== refused?.status && handles(response)) return [control as Control, true];
      return [control as Control, (await get(path)).status === 405 && unknown.status !== 405];
    }),
  ];
  return (await Promise.all(found)).filter(([, has]) => has).map(([control]) => control);
}
