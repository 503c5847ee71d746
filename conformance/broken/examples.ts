// Records an example for the page of a requirement: the request that shows the fault of a broken server, how this server
// responds, and how the sound model responds to the same request.
import { parse, stringify } from "lossless-json";
import { didYouMean } from "../cli/flags.ts";
import { catalogue } from "../contract/requirements.ts";
import type { Example } from "../contract/examples.ts";
import type { CheckResult, Exchange, Report, Requirement } from "../results.ts";
import type { Fault } from "./fault.ts";
import { faults } from "./faults.ts";
import { startBroken } from "./server.ts";
import { runTrial } from "./trial.ts";

/** A challenge makes the references of every recording the same. */
const challenge = ["--challenge", "an example for each requirement"];
/** A page shows no more of a text than this, in characters. */
const longest = { text: 300, body: 900 };
/** How many broken servers of a requirement are tried, until one shows its fault in a single exchange. */
const mostFaults = 5;

const usual =
  /^(accept|accept-language|accept-encoding|user-agent|host|connection|content-length|idempotency-key|x-request-id)$/i;
const shown = /^(content-type|location|retry-after|allow)$/i;
const incidental = /^(date|connection|content-length|keep-alive|transfer-encoding|x-request-id)$/i;

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);

const digits = (count: number, length: number) => String(count).padStart(length, "0");

/** Returns a function that replaces what differs from run to run, such as ports, references, ids and times. */
function steady(report: Report) {
  const known = new Map<string, string>();
  const as = (make: (count: number) => string) => (found: string) => {
    const name = known.get(found) ?? make(known.size + 1);
    known.set(found, name);
    return name;
  };
  return (text: string) =>
    text
      .replaceAll(report.baseUrl, "https://api.example")
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "https://shop.example")
      .replaceAll(new URL(report.baseUrl).host, "api.example")
      .replaceAll(/\b(DSB|CHK)[A-Z0-9]{17,}\b/g, (all, kind: string) => as((n) => `${kind}${digits(n, 20)}`)(all))
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-([1-8])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (all, version: string) =>
        as((n) => `01900000-0000-${version}000-8000-${digits(n, 12)}`)(all),
      )
      .replaceAll(/20\d\d-\d\d-\d\dT[\d:]{8}(\.\d+)?Z/g, (all) =>
        as((n) => new Date(Date.UTC(2026, 0, 5, 10) + n * 1000).toISOString())(all),
      );
}

function pretty(body: string): string {
  try {
    return stringify(parse(body), undefined, 2) ?? body;
  } catch {
    return body;
  }
}

const pathOf = ({ url }: Exchange) => url.replace(/^https?:\/\/[^/]+/, "");
const routeOf = (exchange: Exchange) =>
  `${exchange.method} ${pathOf(exchange).replaceAll(/\b(DSB|CHK)[A-Z0-9]{17,}\b/g, "{reference}")}`;

const merchants = (exchange: Exchange) => /"merchantsReference":\s*"([^"]*)"/.exec(exchange.responseBody ?? "")?.[1];
const keys = (exchange: Exchange) => Object.keys(exchange.requestHeaders).toSorted().join().toLowerCase();
const withoutPort = (text = "") => text.replaceAll(/127\.0\.0\.1:\d+/g, "");

/** Returns the exchange of the sound server that corresponds best to one of the broken server. */
function counterpart(exchange: Exchange, check: CheckResult, place: number, sound: Report): Exchange | undefined {
  const candidates = sound.requirements.flatMap(({ checks }) =>
    checks.flatMap(({ name, exchanges }) =>
      exchanges.map((other, index) => ({
        other,
        fits:
          Number(name === check.name) +
          Number(name === check.name && index === place) +
          4 * Number(keys(other) === keys(exchange)) +
          8 * Number(withoutPort(other.requestBody) === withoutPort(exchange.requestBody)) +
          2 * Number(merchants(other) === merchants(exchange)),
        isSame: routeOf(other) === routeOf(exchange) && other.status !== undefined,
      })),
    ),
  );
  const [best] = candidates.filter(({ isSame, fits }) => isSame && fits >= 8).toSorted((a, b) => b.fits - a.fits);
  return best?.other;
}

/** Returns what a page shows of an exchange. Of the headers, those that people look at, and those that differ. */
function shownOf(exchange: Exchange, other: Exchange | undefined, id: string, report: Report) {
  const text = steady(report);
  const {
    method,
    requestHeaders,
    requestBody = "",
    status,
    responseHeaders = {},
    responseBody = "",
    failure,
  } = exchange;
  const isShown = (name: string) => id.includes("request-id") && /^x-request-id$/i.test(name);
  const sent = Object.entries(requestHeaders).filter(([name]) => isShown(name) || !usual.test(name));
  const received = Object.entries(responseHeaders).filter(
    ([name, value]) =>
      isShown(name) || shown.test(name) || (other && !incidental.test(name) && other.responseHeaders?.[name] !== value),
  );
  const first = status === undefined ? `No response: ${failure}` : `HTTP ${status}`;
  return {
    request: text(messageOf(`${method} ${pathOf(exchange)}`, sent, requestBody)),
    response: text(messageOf(first, received, pretty(responseBody))),
  };
}

const messageOf = (first: string, headers: [string, string][], body: string): string =>
  [first, ...headers.map(([name, value]) => `${name}: ${value}`), ...(body ? ["", cut(body, longest.body)] : [])].join(
    "\n",
  );

/** Returns the first of several texts that a check has joined. */
const firstOf = (text: string) => text.split("; ")[0]!;

/** Runs the checks that catch a fault, against the broken server and the sound model. */
async function recorded({ id, profile }: Requirement, { id: name, how, through }: Fault): Promise<Example> {
  const args = ["--profile", profile, ...challenge];
  const isCaught = ({ results }: { results: Record<string, { verdict: string }> }) =>
    results[id]?.verdict === "fail" || results[id]?.verdict === "warn";
  const broken = await runTrial(startBroken(how), args, { only: [id], through, enough: isCaught });
  const checks = broken.requirements.find((result) => result.id === id)!.checks;
  const check = checks.find(({ verdict }) => verdict === "fail" || verdict === "warn");
  const fault = name.slice(name.indexOf(": ") + 2);
  if (!check) return { fault };
  const place = check.exchanges.findIndex(({ id: each }) => each === (check.shownBy ?? check.contradictedBy));
  const exchange = check.exchanges[place];
  const [expected, actual] = [check.expected, check.actual].map(firstOf).map(steady(broken));
  const said = { fault, expected: cut(expected!, longest.text), actual: cut(actual!, longest.text) };
  if (!exchange) return said;
  const sound = await runTrial(startBroken(), args, { only: [id], through });
  const other = counterpart(exchange, check, place, sound);
  const [wrong, right] = [shownOf(exchange, other, id, broken), other && shownOf(other, exchange, id, sound)];
  // What is wrong then is not in a response, but for example in a webhook.
  if (wrong.response === right?.response) return said;
  return { ...said, request: wrong.request, wrong: wrong.response, ...(right && { right: right.response }) };
}
/** Records an example of the requirement. Prefers a broken server whose fault is seen in the response to one request. */
export async function recordExample(id: string): Promise<Example> {
  const requirement = catalogue.find((each) => each.id === id);
  if (!requirement)
    throw new Error(
      `There is no requirement ${id}.${didYouMean(
        id,
        catalogue.map((each) => each.id),
      )}`,
    );
  const breaking = faults.filter(({ violates }) => violates.some((each) => each === id));
  const sorted = breaking.toSorted((a, b) => Number(b.violates[0] === id) - Number(a.violates[0] === id));
  let best: Example | undefined;
  for (const fault of sorted.slice(0, mostFaults)) {
    const example = await recorded(requirement, fault);
    if (example.right !== undefined) return example;
    if (best?.wrong === undefined && (best?.expected === undefined || example.wrong)) best = example;
  }
  return best!;
}
