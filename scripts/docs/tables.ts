import { DuplicateReferenceError } from "../../client/errors.ts";
import { outcomeOfReply } from "../../client/outcome.ts";
import type { ErrorCode } from "../../server/domain/errors.ts";
import {
  FORCED_OUTCOMES,
  HOLD_MS,
  outcomeFor,
  REFUSED_ATTEMPTS,
  type ForcedOutcome,
} from "../../server/domain/outcomes.ts";
import { seconds } from "../../server/http/docs/fill.ts";
import { COUNTED, SHARED, type Described } from "../../server/observability/metrics.ts";
import { SETTINGS, type Setting } from "../../server/settings.ts";
import { STATUS } from "../../server/http/http-error.ts";

/** The parts of the bundled contract that the tables need. */
export interface Document {
  info: { title: string; summary: string; description: string };
  paths: object;
  webhooks: object;
}

type Row = readonly string[];

export const table = (heads: Row, rows: readonly Row[]): string =>
  [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** The outcomes that phone numbers force, from the table that the sandbox uses. */
export function outcomeTable(): string {
  const endings = Object.keys(FORCED_OUTCOMES).toSorted();
  return table(
    ["Ends in", "A payout", "On the payment page", "Failure code"],
    [
      ...endings.map((ending) => outcomeRow(`\`${ending}\``, FORCED_OUTCOMES[ending]!)),
      outcomeRow("anything else", outcomeFor("")),
    ],
  );
}

const outcomeRow = (ending: string, outcome: ForcedOutcome) => [
  ending,
  describe(outcome, { error: "500", refused: "503 with `Retry-After: 1`", each: "reference", late: "response" }),
  describe(outcome, {
    error: "an error page, and the customer can still pay",
    refused: "the form again, with a request to wait",
    each: "checkout",
    late: "next page",
  }),
  outcome.failure ? `\`${outcome.failure}\`` : "",
];

function describe(
  { refuse, status, at, response }: ForcedOutcome,
  words: Record<"error" | "refused" | "each" | "late", string>,
): string {
  if (refuse === "always") return `${words.error}; nothing is recorded`;
  const settled = at === "once" ? `\`${status}\` immediately` : `\`pending\`, then \`${status}\` after {{settleDelay}}`;
  const ends = status === undefined ? "`pending` for ever" : settled;
  if (refuse === "at-first") {
    return `${words.refused}, for the first ${REFUSED_ATTEMPTS} attempts of a ${words.each}, which record nothing; then ${ends}`;
  }
  if (response === "dropped") return `${ends}; the connection closes without a response`;
  if (response === "held") return `${ends}; the ${words.late} comes after ${seconds(HOLD_MS)}`;
  return ends;
}

/** Every error code with the status that the server sends, and its meaning from the contract. */
export function errorTable(document: Document): string {
  const meanings = new Map(rowsOf(document, "Error codes").map((cells) => [cells[0], cells]));
  const rows = Object.entries(STATUS).map(([code, status]) => {
    const [, , meaning, recorded, retry] = meanings.get(`\`${code as ErrorCode}\``)!;
    return [`\`${code}\``, String(status), meaning!, recorded!, retry!];
  });
  return table(["Code", "Status", "Meaning", "Recorded?", "Retry?"], rows);
}

/** The codes of invalid fields, from the contract. */
export const fieldTable = (document: Document): string => table(["Code", "Meaning"], rowsOf(document, "Field codes"));

/** The rows of the first table under a heading of the contract's text. */
function rowsOf(document: Document, heading: string): Row[] {
  const [, section = ""] = document.info.description.split(`### ${heading}\n`);
  const lines = /(?:^\|.*\n)+/m.exec(section)![0].trimEnd().split("\n");
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** The environment variables of the server. */
export const settingTable = (): string =>
  table(
    ["Variable", "Meaning", "If it is not set"],
    Object.entries<Setting>(SETTINGS).map(([name, { meaning, initial, otherwise }]) => [
      `\`${name}\``,
      meaning,
      otherwise ?? (initial === undefined ? "" : `\`${initial}\``),
    ]),
  );

/** The server's own metrics. */
export const metricTable = (): string =>
  table(
    ["Metric", "Meaning", "Labels"],
    Object.entries<Described>({ ...COUNTED, ...SHARED }).map(([name, [help, labels = ""]]) => [
      `\`${name}\``,
      help,
      labels.replaceAll(/\w+/g, "`$&`"),
    ]),
  );

type Parameter = Parameters<typeof outcomeOfReply>;

const context = () => ({ baseUrl: "https://pay.example", runtime: { date: () => 0 } }) as Parameter[2];
const job = { body: {}, matches: (data: unknown) => Boolean(data) } as Parameter[1];

/** What a response says about the payment. */
function meaningOf(status: number, body: object | string): string {
  const reply = { body, response: new Response(null, { status }) };
  const { error, ambiguous } = outcomeOfReply(reply, job, context(), (text) => text);
  if (!error || ambiguous) return error ? "perhaps" : "yes";
  return `${error instanceof DuplicateReferenceError ? "not by this request" : "no"}: \`${error.name}\``;
}

/** The cells of a status: with the service's error body and code, with its error body alone, with any other body. */
function cellsOf(status: number): string {
  const body = { statusCode: status, error: "Refused" };
  return [{ ...body, code: "refused" }, body, "page"].map((each) => meaningOf(status, each)).join(" | ");
}

/**
 * The table that says which responses to a create prove that nothing was paid: computed by the client's code that decides
 * it. client/create.test.ts proves the rows about failures without a response.
 */
export function knownTable(): string {
  const statuses = Array.from({ length: 400 }, (_, index) => 200 + index);
  const unknown = "perhaps | perhaps | perhaps";
  const groups = Map.groupBy(statuses, cellsOf);
  const known = [...groups].filter(([cells]) => cells !== unknown);
  return table(
    ["A create gets", "Recorded, if the body is an error with `code`", "an error without `code`", "anything else"],
    [
      ["200 with this payment", meaningOf(200, { data: {} })],
      ...known.map(([cells, alike]) => [alike.join(", "), cells]),
      ["every other status", unknown],
      [
        "connection refused, unknown host, no time or no route to connect, untrusted certificate",
        "no: `ConnectionError`",
      ],
      ["connection lost, no response in time", "perhaps"],
    ],
  );
}
