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

/** Headers that say nothing about a fault. */
const incidental =
  /^(accept.*|user-agent|host|connection|content-length|idempotency-key|upgrade-insecure-requests|date|keep-alive|transfer-encoding)$/i;
/** What differs from run to run: references, ids, and times, also in a query. */
const varying = /\b(DSB|CHK)[A-Z0-9]{15,}|[0-9a-f]{8}-[0-9a-f-]{27}|msg_[0-9a-f]{32}|20\d\d-\d\d-\d\dT[\d:.A%]+Z/gi;
const alike = (a: string, b: string) => a.replaceAll(varying, "…") === b.replaceAll(varying, "…");

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);

/** Replaces the addresses of this machine, which differ from run to run too. */
const withoutAddresses = <T>({ baseUrl }: Report, value: T): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(baseUrl, "https://api.example")
      .replaceAll(new URL(baseUrl).host, "api.example")
      .replaceAll(/https?:\/\/127\.0\.0\.1:\d+/g, "https://shop.example")
      .replaceAll(/127\.0\.0\.1:\d+/g, "shop.example"),
  ) as T;

/** Indents a body if it is JSON. Numbers keep their digits. */
function indented(body: string): string {
  try {
    return stringify(parse(body), undefined, 2) ?? body;
  } catch {
    return body;
  }
}

/** Renders a message. The id of a request matters only to requirements about it. */
function messageOf(id: string, first: string, headers: Exchange["requestHeaders"] = {}, body = ""): string {
  const isShown = (name: string) => (/^x-request-id$/i.test(name) ? id.includes("request-id") : !incidental.test(name));
  const shown = Object.entries(headers).filter(([name]) => isShown(name));
  return [
    first,
    ...shown.map(([name, value]) => `${name}: ${value}`),
    ...(body ? ["", cut(indented(body), longest.body)] : []),
  ].join("\n");
}

const requestOf = (id: string, { method, url, requestHeaders, requestBody }: Exchange) =>
  messageOf(id, `${method} ${url.replace(/^https?:\/\/[^/]+/, "")}`, requestHeaders, requestBody);
const responseOf = (id: string, { status, failure, responseHeaders, responseBody }: Exchange) =>
  messageOf(id, status === undefined ? `No response: ${failure}` : `HTTP ${status}`, responseHeaders, responseBody);

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
  const fault = name.slice(name.indexOf(": ") + 2);
  const check = withoutAddresses(broken, broken.requirements.find((result) => result.id === id)!.checks).find(
    ({ verdict }) => verdict === "fail" || verdict === "warn",
  );
  if (!check) return { fault };
  const [expected, actual] = [check.expected, check.actual].map((text) => cut(firstOf(text), longest.text));
  const said = { fault, expected, actual };
  const place = check.exchanges.findIndex((each) => each.id === (check.shownBy ?? check.contradictedBy));
  const exchange = check.exchanges[place];
  if (!exchange) return said;
  const [request, wrong] = [requestOf(id, exchange), responseOf(id, exchange)];

  const sound = await runTrial(startBroken(), args, trial);
  // A check may send the same request more than once, and a requirement about every response has requests of all checks.
  const isSame = ({ name: other }: CheckResult) => Number(other === check.name);
  const others = withoutAddresses(sound, sound.requirements)
    .flatMap(({ checks }) => checks)
    .toSorted((a, b) => isSame(b) - isSame(a))
    .flatMap(({ exchanges }) => [...exchanges.slice(place, place + 1), ...exchanges]);
  const other = others.find((each) => each.status !== undefined && alike(requestOf(id, each), request));
  const right = other && responseOf(id, other);
  const status = String(exchange.status);
  const isInResponse = right === undefined ? check.actual.startsWith(status) : !alike(right, wrong);
  // Otherwise the fault is not in a response, but for example in a webhook.
  if (!isInResponse) return said;
  return { ...said, ...(check.actual.startsWith(`${status} {`) && { actual: status }), request, wrong, right };
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
