// Records an example for the page of a requirement: the request that shows the fault of a broken server, how this server
// responds, and how the sound model responds to the same request.
import { parse, stringify } from "lossless-json";
import type { Example } from "../contract/examples.ts";
import type { CheckResult, Exchange, Report, Requirement } from "../results.ts";
import type { Fault } from "./fault.ts";
import { faults } from "./faults.ts";
import { startBroken } from "./server.ts";
import { runTrial } from "./trial.ts";

/** A challenge makes the references of every recording the same. */
const challenge = ["--challenge", "an example for each requirement"];
/** A page shows no more of a text than this, in characters. */
const longest = { text: 300, body: 1500 };
/** How many broken servers of a requirement are tried, until one shows its fault in a single response. */
const mostFaults = 3;

const usual =
  /^(accept|accept-language|accept-encoding|user-agent|host|connection|content-length|idempotency-key|x-request-id|upgrade-insecure-requests)$/i;
const shown = /^(content-type|location|retry-after|allow)$/i;
const incidental = /^(date|connection|content-length|keep-alive|transfer-encoding|x-request-id)$/i;

// What differs from run to run: the model's references, ids, and times, also in a query.
const reference = /\b(DSB|CHK)[A-Z0-9]{15,}\b/gi;
const wholeReference = /\b(?:DSB|CHK)[A-Z0-9]{21}\b/g;
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-([1-8])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const message = /msg_[0-9a-f]{32}/g;
const time = /20\d\d-\d\d-\d\dT\d\d(:|%3A)\d\d\1\d\d(\.\d+)?Z/g;
const receiver = /127\.0\.0\.1:\d+/g;

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);
const digits = (count: number, length: number) => String(count).padStart(length, "0");

/** Returns a function that replaces what differs from run to run, each by a value that stays the same. */
function steady({ baseUrl }: Report) {
  const known = new Map<string, string>();
  const renamed = (found: string, make: (count: number) => string) => {
    const name = known.get(found) ?? make(known.size + 1);
    known.set(found, name);
    return name;
  };
  /** A reference that was altered stays an altered one: shorter, longer or in lower case. */
  const referenceLike = (found: string) => {
    const whole = [...known.keys()].find((each) => each.slice(0, 15) === found.slice(0, 15).toUpperCase());
    if (whole === undefined) return found;
    const name = known.get(whole)!.slice(0, found.length) + found.slice(whole.length);
    return found === found.toUpperCase() ? name : name.toLowerCase();
  };
  return (text: string) => {
    for (const [found] of text.matchAll(wholeReference)) renamed(found, (n) => found.slice(0, 3) + digits(n, 21));
    return (
      text
        .replaceAll(baseUrl, "https://api.example")
        .replaceAll(new URL(baseUrl).host, "api.example")
        .replaceAll(/https?:\/\/127\.0\.0\.1:\d+/g, "https://shop.example")
        .replaceAll(receiver, "shop.example")
        // A check may have cut a time.
        .replaceAll(/20\d\d-\d\d(-\d\d(T[\d:.]*)?)?(?=…)/g, "")
        .replaceAll(reference, referenceLike)
        .replaceAll(uuid, (all, version) => renamed(all, (n) => `01900000-0000-${version}000-8000-${digits(n, 12)}`))
        .replaceAll(message, (all) => renamed(all, (n) => `msg_${digits(n, 32)}`))
        .replaceAll(time, (all) => renamed(all, (n) => new Date(Date.UTC(2026, 0, 5, 10) + n * 1000).toISOString()))
    );
  };
}

const pathOf = ({ url }: Exchange) => url.replace(/^https?:\/\/[^/]+/, "");
const alike = (text: string) =>
  [reference, uuid, message, time, receiver].reduce((rest, pattern) => rest.replaceAll(pattern, "…"), text);
const routeOf = (exchange: Exchange) => `${exchange.method} ${alike(pathOf(exchange))}`;
const merchants = (exchange: Exchange) => /"merchantsReference":\s*"([^"]*)"/.exec(exchange.responseBody ?? "")?.[1];
const keys = (exchange: Exchange) => Object.keys(exchange.requestHeaders).toSorted().join().toLowerCase();

/** Returns the exchange of the sound server that corresponds best to one of the broken server. */
function counterpart(exchange: Exchange, check: CheckResult, place: number, sound: Report): Exchange | undefined {
  const candidates = sound.requirements
    .flatMap(({ checks }) => checks)
    .flatMap(({ name, exchanges }) => exchanges.map((other, index) => ({ other, index, isSame: name === check.name })))
    .filter(
      ({ other }) =>
        other.status !== undefined &&
        routeOf(other) === routeOf(exchange) &&
        alike(other.requestBody ?? "") === alike(exchange.requestBody ?? ""),
    )
    .map(({ other, index, isSame }) => ({
      other,
      fits:
        4 * Number(keys(other) === keys(exchange)) +
        4 * Number(isSame && index === place) +
        2 * Number(merchants(other) === merchants(exchange)) +
        Number(isSame),
    }));
  return candidates.toSorted((a, b) => b.fits - a.fits)[0]?.other;
}

/** Returns what a page shows of an exchange. Of the headers, those that people look at, and those that differ. */
function shownOf(exchange: Exchange, other: Exchange | undefined, id: string, text: (text: string) => string) {
  const { requestHeaders, requestBody = "", status, responseHeaders = {}, responseBody = "", failure } = exchange;
  const isShown = (name: string) => id.includes("request-id") && /^x-request-id$/i.test(name);
  const sent = Object.entries(requestHeaders).filter(([name]) => isShown(name) || !usual.test(name));
  const received = Object.entries(responseHeaders).filter(
    ([name, value]) =>
      isShown(name) || shown.test(name) || (other && !incidental.test(name) && other.responseHeaders?.[name] !== value),
  );
  const request = messageOf(`${exchange.method} ${pathOf(exchange)}`, sent, requestBody);
  const response = messageOf(
    status === undefined ? `No response: ${failure}` : `HTTP ${status}`,
    received,
    responseBody,
  );
  return JSON.parse(text(JSON.stringify([request, response]))) as [request: string, response: string];
}

const messageOf = (first: string, headers: [string, string][], body: string): string =>
  [first, ...headers.map(([name, value]) => `${name}: ${value}`), ...(body ? ["", cut(body, longest.body)] : [])].join(
    "\n",
  );

/** Indents the body of a message if it is JSON. Numbers keep their digits. */
function indented(text: string | undefined): string | undefined {
  const [, head, body] = /^([^]*?\n\n)([{[][^]*)$/.exec(text ?? "") ?? [];
  if (head === undefined || body === undefined) return text;
  try {
    return head + stringify(parse(body), undefined, 2);
  } catch {
    return text;
  }
}

/** Returns the first of several texts that a check has joined. */
const firstOf = (text: string) => text.split(/; (?=\d{3}\b|GET |POST |and \d+ more)/)[0]!;

/** Runs the checks that catch a fault, against the broken server and the sound model. */
async function recorded({ id, profile }: Requirement, { id: name, how, through }: Fault): Promise<Example> {
  const args = ["--profile", profile, ...challenge];
  const trial = { only: [id], through };
  const broken = await runTrial(startBroken(how), args, {
    ...trial,
    enough: ({ results }) => /^(fail|warn)$/.test(results[id]?.verdict ?? ""),
  });
  const { checks } = broken.requirements.find((result) => result.id === id)!;
  const check = checks.find(({ verdict }) => verdict === "fail" || verdict === "warn");
  const fault = name.slice(name.indexOf(": ") + 2);
  if (!check) return { fault };
  const text = steady(broken);
  const said = (actual = check.actual) => {
    // Learn the references that the two texts may have altered.
    text(check.exchanges.map(({ url, responseBody }) => `${url} ${responseBody}`).join(" "));
    const [expected, received] = [check.expected, actual].map((each) => cut(text(firstOf(each)), longest.text));
    return { fault, expected, actual: received };
  };
  const place = check.exchanges.findIndex((each) => each.id === (check.shownBy ?? check.contradictedBy));
  const exchange = check.exchanges[place];
  if (!exchange) return said();
  const sound = await runTrial(startBroken(), args, trial);
  const other = counterpart(exchange, check, place, sound);
  const [request, wrong] = shownOf(exchange, other, id, text);
  const [, right] = other ? shownOf(other, exchange, id, steady(sound)) : [];
  const status = String(exchange.status);
  const isInResponse = right === undefined ? check.actual.startsWith(status) : right !== wrong;
  // Otherwise the fault is not in a response, but for example in a webhook.
  if (!isInResponse) return said();
  const actual = check.actual.startsWith(`${status} {`) ? status : check.actual;
  return { ...said(actual), request, wrong: indented(wrong), right: indented(right) };
}

/** Records an example of a requirement. Prefers a broken server whose fault is seen in the response to one request. */
export async function recordExample(requirement: Requirement): Promise<Example> {
  const { id } = requirement;
  const breaking = faults.filter(({ violates }) => violates.some((each) => each === id));
  const examples: Example[] = [];
  for (const fault of breaking
    .toSorted((a, b) => Number(b.violates[0] === id) - Number(a.violates[0] === id))
    .slice(0, mostFaults)) {
    examples.push(await recorded(requirement, fault));
    if (examples.at(-1)!.right !== undefined) return examples.at(-1)!;
  }
  return examples.find(({ wrong }) => wrong) ?? examples.find(({ expected }) => expected) ?? examples[0]!;
}
