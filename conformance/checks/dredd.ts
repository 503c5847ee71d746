// Lets Dredd judge the documented responses and reports its verdicts under the matching requirements.
import { responseSchema, routeOf } from "../contract/contract.ts";
import { describeResponse, type Check, type Context } from "../check.ts";
import { runDredd, type Prepared } from "../contract/dredd.ts";
import { createForwarder } from "../target/forwarder.ts";
import type { Effect } from "../results.ts";
import { inlined } from "../contract/validate.ts";
import { costOf, documented, type Documented } from "./documented.ts";

/**
 * Returns a predicate for the statuses that `core` accepts in place of the documented one; undefined if it accepts
 * none. For an invalid disbursement 400 and 422 are interchangeable. For a checkout any 2xx replaces a 2xx and any 4xx
 * replaces a 4xx, except for 401.
 */
function alike({ method, template, status }: Documented): ((actual: number) => boolean) | undefined {
  if (method === "POST" && template === "/v1/checkouts" && status !== 401) {
    return (actual) => (status < 300 ? actual >= 200 && actual < 300 : actual >= 400 && actual < 500);
  }
  return status === 400 || status === 422 ? (actual) => actual === 400 || actual === 422 : undefined;
}

function schemaOf({ method, template, status }: Documented, { options }: Context) {
  const route = routeOf(method, template);
  const name = route && responseSchema(route, status)?.$ref?.split("/").at(-1);
  // The interface leaves checkout responses open (§4.3).
  const open = options.profile === "core" && template.startsWith("/v1/checkouts");
  return name === undefined || open ? undefined : inlined(options.profile, name);
}

async function prepare(row: Documented, context: Context): Promise<Prepared> {
  const made = await row.make(context);
  const body = made.json === undefined ? made.body : JSON.stringify(made.json);
  const parameter = encodeURIComponent(made.parameter ?? "");
  return {
    path: row.template.replace(/\{\w+\}/, () => parameter) + (made.query ?? ""),
    passing: { effect: row.effect, key: made.key, forced: made.forced },
    headers: body === undefined ? {} : { "content-type": made.type ?? "application/json" },
    body,
    schema: schemaOf(row, context),
    accepts: context.options.profile === "core" ? alike(row) : undefined,
  };
}

const isRow = (method: string, template: string, status: number) => (row: Documented) =>
  row.method === method && row.template === template && row.status === status;

async function judge(rows: readonly Documented[], context: Context) {
  const forwarder = await createForwarder(context.target);
  const find = (method: string, template: string, status: number) => rows.find(isRow(method, template, status));
  try {
    const results = await runDredd(
      forwarder,
      (...response) => find(...response) !== undefined,
      (...response) => prepare(find(...response) as Documented, context),
    );
    for (const { method, template, status, ok, message, response } of results) {
      const row = find(method, template, status) as Documented;
      context.noteDredd(`${method} ${template} → ${status}`, ok);
      const seen = response ? describeResponse(response) : "no response";
      const actual = ok ? seen : `${seen}; Dredd reports: ${message}`;
      context.judge(
        row.id,
        ok,
        `${method} ${template} returns ${status} as documented`,
        actual,
        response ? [response] : [],
      );
    }
  } finally {
    await forwarder.close();
  }
}

const titles: Record<Effect, string> = {
  none: "read requests",
  "must-be-rejected": "invalid requests",
  "moves-money": "create requests",
};

/**
 * Returns the check for the documented responses with this effect, sandbox need and profile; an empty array if there
 * are none. They are separate checks because a run selects checks by these properties.
 */
function checkOf(effect: Effect, sandbox: boolean, profile: "core" | "extended"): Check[] {
  const rows = documented.filter(
    (row) => row.effect === effect && (row.sandbox ?? false) === sandbox && row.profile === profile,
  );
  if (rows.length === 0) return [];
  const where = sandbox ? " in a sandbox" : profile === "core" ? "" : " beyond the interface";
  return [
    {
      name: `Dredd: responses to ${titles[effect]}${where} are as documented`,
      ids: [...new Set(rows.map((row) => row.id))],
      effect,
      ...costOf(rows),
      ...(sandbox ? { needs: ["forced-outcomes"] as const } : {}),
      run: (context) => judge(rows, context),
    },
  ];
}

export const checks: Check[] = (["none", "must-be-rejected", "moves-money"] as const).flatMap((effect) =>
  (["core", "extended"] as const).flatMap((profile) => [
    ...checkOf(effect, false, profile),
    ...checkOf(effect, true, profile),
  ]),
);
