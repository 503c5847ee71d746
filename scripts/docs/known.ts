// The table of the client's README that says which failures of a create prove that nothing was paid: computed by the code
// that decides it.
import { format } from "oxfmt";
import { DuplicateReferenceError, TimeoutError } from "../../client/errors.ts";
import { outcomeOfFailure, outcomeOfReply, type AttemptOutcome } from "../../client/outcome.ts";

type Context = Parameters<typeof outcomeOfReply>[2];
type Job = Parameters<typeof outcomeOfReply>[1];

const context = (): Context => ({ baseUrl: "https://pay.example", runtime: { date: () => 0 } }) as Context;
const job = { body: {}, matches: (data: unknown) => Boolean(data) } as Job;
const same = (text: string) => text;

/** What an outcome says about the payment. */
function meaning({ error, ambiguous }: AttemptOutcome): string {
  if (!error) return "yes";
  if (ambiguous) return "perhaps";
  return `${error instanceof DuplicateReferenceError ? "not by this request" : "no"}: \`${error.name}\``;
}

function meaningOfReply(status: number, body: object | string): string {
  const reply = { text: JSON.stringify(body), response: new Response(null, { status }) };
  return meaning(outcomeOfReply(reply, job, context(), same));
}

/** The cells of a status: with the service's error body and code, with its error body alone, with any other body. */
function cellsOf(status: number): string[] {
  const body = { statusCode: status, error: "Refused" };
  return [
    meaningOfReply(status, { ...body, code: "refused" }),
    meaningOfReply(status, body),
    meaningOfReply(status, "page"),
  ];
}

/** Failures without a response, and the error that Node's fetch throws for each. */
const failures: [what: string, cause: object][] = [
  ["connection refused", { code: "ECONNREFUSED" }],
  ["unknown host", { code: "ENOTFOUND" }],
  ["no time or no route to connect", { code: "UND_ERR_CONNECT_TIMEOUT" }],
  ["no time or no route to connect", { code: "ENETUNREACH", syscall: "connect" }],
  ["untrusted certificate", { code: "CERT_HAS_EXPIRED" }],
  ["connection lost", { code: "ECONNRESET" }],
];

function meaningOfFailures(): [what: string, meaning: string][] {
  const thrown = failures.map(([what, cause]): [string, Error] => [what, new TypeError("fetch failed", { cause })]);
  const late: [string, Error] = ["no response in time", new TimeoutError("")];
  return [...thrown, late].map(([what, error]) => [what, meaning(outcomeOfFailure(error, true, context(), same))]);
}

/** Joins the names of the rows with equal cells. */
function grouped(rows: [name: string, cells: string[]][]): [names: string, cells: string[]][] {
  const groups = new Map<string, { names: Set<string>; cells: string[] }>();
  for (const [name, cells] of rows) {
    const group = groups.get(cells.join());
    if (group) group.names.add(name);
    else groups.set(cells.join(), { names: new Set([name]), cells });
  }
  return [...groups.values()].map(({ names, cells }) => [[...names].join(", "), cells]);
}

/** The table of what proves that a create recorded nothing. */
function knownTable(): string {
  const statuses = Array.from({ length: 400 }, (_, index) => 200 + index);
  const known = statuses.filter((status) => cellsOf(status).some((cell) => cell !== "perhaps"));
  const byStatus = grouped(known.map((status) => [String(status), cellsOf(status)]));
  const byFailure = grouped(meaningOfFailures().map(([what, cell]) => [what, [cell, cell, cell]]));
  const rows = [
    ["200 with this payment", meaningOfReply(200, { data: {} }), "", ""],
    ...byStatus.map(([names, cells]) => [names, ...cells]),
    ["every other status", "perhaps", "perhaps", "perhaps"],
    ...byFailure.map(([names, [cell = ""]]) => [names, cell, "", ""]),
  ];
  const head = ["the create meets", "the service's error with `code`", "its error without `code`", "any other body"];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const marks = /(<!-- known -->)[^]*?(<!-- \/known -->)/;

/** Puts the table into a page, between its marks. */
export async function withKnownTable(page: string): Promise<string> {
  if (!marks.test(page)) throw new Error("The client's README has no place for the table of what is proven.");
  const { code } = await format("table.md", knownTable(), { printWidth: 120 });
  return page.replace(marks, `$1\n\n${code}\n$2`);
}
