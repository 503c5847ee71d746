// Sends the requests of the checks.
import { CouldNotJudge, type Context } from "../check.ts";
import { type TargetRequest, type TargetResponse, dataOf } from "../target/exchange.ts";
import { createTogether } from "../target/together.ts";
import { textOf } from "../target/values.ts";
import { cursorOf } from "./responses.ts";

/** Fields to add to a request. They replace those of its operation, such as the method or the path. */
export type More = Partial<TargetRequest>;

export const get = (context: Context, path: string, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "GET", path, ...more });

/** Sends a disbursement that the target may accept. */
export const pay = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json: body, ...more });

/** Sends a disbursement that the target must refuse. */
export const payInvalid = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  pay(context, body, { effect: "must-be-rejected", ...more });

/** Sends a checkout that the target may accept. */
export const startCheckout = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: "/v1/checkouts", effect: "moves-money", json: body, ...more });

/** Sends a checkout that the target must refuse. */
export const startInvalidCheckout = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  startCheckout(context, body, { effect: "must-be-rejected", ...more });

/** Requests the list of the records that have this merchant's reference. */
export const listNamed = (context: Context, kind: string, reference: unknown): Promise<TargetResponse> =>
  get(context, `/v1/${kind}?merchantsReference=${encodeURIComponent(textOf(reference))}`);

/**
 * Requests a list page by page, up to the last page or `most` pages.
 * @param path the path with a query
 */
export async function* pages(context: Context, path: string, most: number): AsyncGenerator<TargetResponse> {
  for (let count = 0, more = ""; count < most; count += 1) {
    const page = await get(context, path + more);
    yield page;
    if (page.status !== 200 || dataOf(page)["nextCursor"] === undefined) return;
    more = `&cursor=${cursorOf(page)}`;
  }
}

/**
 * Sends one request for each body, so that they race. If the deployment declares how many payouts it accepts in a period,
 * fewer requests race.
 * @param gapMs the time between the last bytes of two requests; by default they are sent together
 * @throws CouldNotJudge if the requests did not race
 */
export async function atOnce(
  { target, limits, sleep }: Context,
  bodies: readonly unknown[],
  { path = "/v1/disbursements", gapMs = 0 } = {},
): Promise<TargetResponse[]> {
  const most = Math.min(...(limits.all.velocity ?? []).map(({ payouts }) => payouts));
  const racing = bodies.slice(0, most);
  const together = createTogether(racing.length, gapMs, sleep);
  await target.pause();
  const create = { method: "POST", path, effect: "moves-money", together } as const;
  const responses = await Promise.all(racing.map((json) => target.send({ ...create, json })));
  if (together.raced < 2) {
    const why = racing.length < 2 ? "velocity in certify.yaml permits" : "the target processed";
    throw new CouldNotJudge(`a race needs two requests at the same time, but ${why} only ${together.raced}`);
  }
  return responses;
}

export const verifyDisbursement = (context: Context, reference: string, more: More = {}): Promise<TargetResponse> =>
  get(context, `/v1/disbursements/${encodeURIComponent(reference)}`, more);

export const verifyCheckout = (context: Context, reference: string, more: More = {}): Promise<TargetResponse> =>
  get(context, `/v1/checkouts/${encodeURIComponent(reference)}`, more);
