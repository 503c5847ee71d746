// Finds out which sandbox controls (D18) a target has, by trying each with a request that cannot change anything.
import { createRandom, shuffled } from "../generate/random.ts";
import { allControls, controls, type Control, type RunOptions } from "../run-options.ts";
import { isAccepted, type TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";

/**
 * Controls that need fields in the body, so that a target refuses a POST of `{}`. The other controls would act on it, so
 * they are sent no POST.
 */
const withBody = new Set<Control>(["clock", "finish-payout", "load", "finish"]);

/** Returns true if the response is an envelope with data. Whether the data is right is for a check to judge. */
const isEnvelope = ({ status, json }: TargetResponse) => {
  const { data } = (json ?? {}) as { data?: unknown };
  return status === 200 && typeof data === "object" && data !== null;
};

/** Returns true if the response shows that something handles this path: it accepts the request or finds it invalid. */
const handles = (response: TargetResponse) =>
  isAccepted(response) || [400, 409, 413, 415, 422].includes(response.status ?? 0);

/**
 * Returns the controls that the target has. A GET shows a control by its content, or by a 405 where only a POST is
 * allowed; an invalid POST shows it by its refusal. The invalid POST is not sent with `--effects none`.
 * @returns the controls, and the merchant's sandbox time if the target states it
 */
export async function findControls(
  target: Target,
  effects: RunOptions["effects"],
): Promise<{ controls: Control[]; sandboxTime?: Date }> {
  const { merchant } = target;
  /** A path that no target has. A control must respond differently. */
  const unknownPath = `/sandbox/${merchant.unknown}/${merchant.name}`;
  const get = (path: string) => target.send({ method: "GET", path });
  const post = (path: string) =>
    effects === "none" ? undefined : target.send({ method: "POST", path, json: {}, effect: "must-be-rejected" });
  const [unknownGet, unknownPost] = await Promise.all([get(unknownPath), post(unknownPath)]);

  let statedTime: unknown;
  async function has(control: Control): Promise<boolean> {
    const [method, template = ""] = controls[control].split(" ");
    const path = template.replace(/\{\w+\}/, merchant.unknown);
    if (method === "GET") {
      const response = await get(path);
      if (control === "time") statedTime = (response.json as { data?: { now?: unknown } } | undefined)?.data?.now;
      return isEnvelope(response);
    }
    const response = withBody.has(control) ? await post(path) : undefined;
    if (response && response.status !== unknownPost?.status && handles(response)) return true;
    return (await get(path)).status === 405 && unknownGet.status !== 405;
  }
  const random = createRandom(target.options.seed, "controls");
  const searches = shuffled(allControls, random).map(async (control) => [control, await has(control)] as const);
  const found = new Map(await Promise.all(searches));
  const sandboxTime = new Date(typeof statedTime === "string" ? statedTime : Number.NaN);
  return {
    controls: allControls.filter((control) => found.get(control)),
    ...(!Number.isNaN(sandboxTime.getTime()) && { sandboxTime }),
  };
}
