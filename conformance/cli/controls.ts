// Finds out which sandbox controls (D18) a target has, by trying each with a request that cannot change anything.
import { createRandom, shuffled } from "../generate/random.ts";
import type { Control, RunOptions } from "../run-options.ts";
import { isAccepted, type TargetResponse } from "../target/exchange.ts";
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
const usable = (unknown: string): Partial<Record<Control, { path: string; body?: Record<string, unknown> }>> => ({
  clock: { path: "/sandbox/clock/advance", body: {} },
  finish: { path: `/sandbox/checkouts/${unknown}/finish`, body: {} },
  replay: { path: `/sandbox/deliveries/${unknown}/replay` },
  rotate: { path: "/sandbox/webhook-secret/rotate" },
  reset: { path: "/sandbox/reset" },
  listener: { path: "/sandbox/listener", body: {} },
});

/** Returns true if the response shows that something handles this path: it accepts the request or finds it invalid. */
const handles = (response: TargetResponse) =>
  isAccepted(response) || [400, 409, 413, 415, 422].includes(response.status ?? 0);

/**
 * Returns the controls that the target has. A GET shows a control by its content, or by a 405 where only a POST is
 * allowed; an invalid POST shows it by its refusal. The latter is not sent with `--effects none`.
 */
export async function findControls(target: Target, effects: RunOptions["effects"]): Promise<Control[]> {
  const { merchant } = target;
  /** A path that no target has. A control must respond differently. */
  const nowhere = `/sandbox/${merchant.unknown}/${merchant.name}`;
  const get = (path: string) => target.send({ method: "GET", path });
  const post = (path: string, json: unknown) =>
    effects === "none" ? undefined : target.send({ method: "POST", path, json, effect: "must-be-rejected" });
  const [unknown, refused] = await Promise.all([get(nowhere), post(nowhere, {})]);
  const random = createRandom(target.options.seed, "controls");
  const asked = [
    ...Object.entries(readable).map(([control, path]) => ({
      control,
      ask: async () => isEnvelope(await get(path)),
    })),
    ...Object.entries(usable(merchant.unknown)).map(([control, { path, body }]) => ({
      control,
      async ask() {
        const response = body && (await post(path, body));
        if (response && response.status !== refused?.status && handles(response)) return true;
        return (await get(path)).status === 405 && unknown.status !== 405;
      },
    })),
  ];
  const answers = shuffled(asked, random).map(async ({ control, ask }) => [control, await ask()] as const);
  const found = new Map(await Promise.all(answers));
  return asked.map(({ control }) => control as Control).filter((control) => found.get(control));
}
