// Scenarios that combine what can happen to an entry: how the first response is lost (a kill is one way), whether the
// next create is put off, how later creates are refused, and what the program finds when it asks for the record.
// Faults of clients show when two of these conditions meet, so every pair of values occurs. A row of values is an
// entry, and a scenario has many such entries.
import { covering } from "../../generate/covering.ts";
import { asJson, gateway, never, serviceError, type Answer, type Forged, type Step } from "./answers.ts";
import { entry, type Fate, type PlannedEntry, type Story } from "./entries.ts";
import { scenario, type Scenario, type Start } from "./scenario.ts";

/** The error body of widespread frameworks. It has the fields of the service's errors, except the code. */
const framework = (status: number): Forged => ({
  status,
  body: { statusCode: status, error: "Unauthorized", message: "Missing token" },
});
const redirect = (status: number, location: string): Forged => ({ status, headers: { location } });
const json = (body: unknown): Forged => ({ status: 200, body });

/** What the program receives instead of the response to its first create. */
const losses: Readonly<Record<string, Answer>> = {
  /** The program is killed before it receives anything. */
  killed: "drop",
  /** The response is lost in one of the other ways, and the program is killed when it repeats the create. */
  "killed-in-retry": "drop",
  dropped: "drop",
  reset: "reset",
  "cut-status": "cut-status",
  "cut-headers": "cut-headers",
  "cut-body": "cut-body",
  "short-body": "short-body",
  garbage: "garbage",
  silence: "silence",
  ...Object.fromEntries(
    [200, 400, 401, 403, 404, 409, 422, 500, 502, 503, 504].map((status) => [`gateway-${status}`, gateway(status)]),
  ),
  ...Object.fromEntries([401, 403, 404].map((status) => [`gateway-${status}-framework`, framework(status)])),
  "gateway-401-empty": { status: 401 },
  "gateway-403-json": { status: 403, body: { message: "Forbidden" } },
  failure: serviceError(500, "internal_error"),
  /** Only the code `unavailable` says that nothing was recorded. */
  "failure-503": serviceError(503, "timeout"),
  "page-as-json": asJson("<html><body>Please sign in</body></html>"),
  "empty-200": { status: 200 },
  "no-content": { status: 204 },
  "json-null": asJson("null"),
  "json-list": json([]),
  "json-empty": json({}),
  "json-no-data": json({ statusCode: 200 }),
  "only-a-status": json({ statusCode: 200, data: { status: "success" } }),
  "data-text": json({ statusCode: 200, data: "ok" }),
  "data-null": json({ statusCode: 200, data: null }),
  "error-within-200": json({ success: false, error: "upstream timed out" }),
  "somebody-elses": "someone-elses",
  ...Object.fromEntries(
    [302, 307].map((status) => [`redirect-${status}`, redirect(status, "{foreign}/v1/disbursements")]),
  ),
  "redirect-303": redirect(303, "{foreign}/v1/disbursements/DSB1"),
  "redirect-307-near": redirect(307, "/elsewhere"),
};

/** The response to the create after the loss. It proves only that this create, not an earlier one, recorded nothing. */
const pauses: Readonly<Record<string, Answer | undefined>> = {
  "no-pause": undefined,
  "then-429": serviceError(429, "rate_limited"),
  "then-503": serviceError(503, "unavailable"),
};

/** How the service responds to every later create. */
const refusals: Readonly<Record<string, number | undefined>> = Object.fromEntries(
  [400, 401, 403, 404, 405, 413, 415, 422].map((status) => [`then-${status}`, status]),
);

type Recorded = { fate?: Fate; exists?: PlannedEntry["exists"]; process?: Step["process"] };

/** What the service has recorded for the reference. */
const records: Readonly<Record<string, Recorded>> = {
  success: {},
  failed: { fate: "failed" },
  pending: { fate: "pending" },
  settles: { fate: "settles" },
  added: { fate: "added" },
  "other-amount": { exists: { amount: 7 } },
  "other-currency": { exists: { currency: "USD" } },
  "other-country": { exists: { country: "SN" } },
  "other-recipient": { exists: { phoneNumber: "233200000000" } },
  unrecorded: { process: "never" },
  "recorded-late": { process: "late" },
};

/** The `Location` of a 409. The first three lead to the payout. */
const locations: Readonly<Record<string, string | null>> = {
  "location-given": "/v1/disbursements/{reference}",
  "location-whole": "{origin}/v1/disbursements/{reference}",
  "location-query": "/v1/disbursements/{reference}?view=full",
  "location-missing": null,
  "location-foreign": "{foreign}/v1/disbursements/{reference}",
  "location-protocol-relative": "//{foreign-host}/v1/disbursements/{reference}",
  "location-userinfo": "http://127.0.0.1@{foreign-host}/v1/disbursements/X",
  "location-script": "javascript:alert(1)",
  "location-dots": "/v1/disbursements/../../elsewhere/{reference}",
  "location-somebody": "/v1/disbursements/{first}",
  "location-long": `/v1/disbursements/${"x".repeat(6000)}`,
};
const leadingToPayout = new Set(Object.keys(locations).slice(0, 3));

type Reads = Pick<Story, "reads" | "lists">;
const both = (...answers: Answer[]): Reads => ({ reads: answers, lists: answers });

/** The responses to the first reads and lists. */
const reads: Readonly<Record<string, Reads>> = {
  "reads-work": {},
  "reads-fail": both(losses["failure"]!, gateway(502)),
  "reads-lost": both("drop", "cut-body"),
  "reads-of-somebody": both("someone-elses"),
  "reads-redirected": both(redirect(302, "{foreign}/v1/disbursements/DSB1")),
  "replica-lag": {
    reads: Array.from({ length: 2 }, () => ({ status: 404, body: { statusCode: 404, error: "Not Found" } })),
    lists: Array.from({ length: 2 }, () => json({ statusCode: 200, data: { items: [] } })),
  },
};

/** The value of each dimension. */
type Row = Readonly<Record<"loss" | "pause" | "refusal" | "record" | "location" | "reading" | "listing", string>>;
type Dimensions = Readonly<Record<keyof Row, readonly string[]>>;

/** Later creates are refused. */
const refused: Dimensions = {
  loss: Object.keys(losses),
  pause: Object.keys(pauses),
  refusal: Object.keys(refusals),
  record: ["success", "failed", "added", "other-amount", "unrecorded", "recorded-late"],
  location: ["location-given"],
  reading: Object.keys(reads),
  listing: ["listed", "no-lists"],
};

/** Later creates are accepted. The program then finds the record, and `Location` matters. */
const accepted: Dimensions = {
  ...refused,
  pause: ["no-pause"],
  refusal: ["accepted"],
  record: Object.keys(records),
  location: Object.keys(locations),
};

function rowsOf(dimensions: Dimensions): Row[] {
  const all = Object.entries(dimensions);
  const sizes = all.map(([, values]) => values.length);
  return covering(sizes, []).map(
    (row) => Object.fromEntries(all.map(([name, values], index) => [name, values[row[index]!]])) as Row,
  );
}

const rows = [...rowsOf(refused), ...rowsOf(accepted)];

const isKilled = ({ loss }: Row) => loss.startsWith("killed");
/** The losses that the rows with `killed-in-retry` take in turn. */
const survived = Object.keys(losses).filter((name) => !name.startsWith("killed"));

function entryOf(row: Row, index: number, turn: number): PlannedEntry {
  const { loss: name, pause, refusal, record, location, reading } = row;
  const { fate = "success", exists, process = "now" } = records[record]!;
  const status = refusals[refusal];
  const loss = name === "killed-in-retry" ? survived[turn % survived.length]! : name;
  // A sound program may take such an error for a final refusal by the service, and stop.
  const mayStop = status !== undefined || loss.endsWith("-framework");
  const answer = pauses[pause];
  // The program is killed when the second create arrives, and does not see the response to that create.
  const later = answer ? Array.from({ length: name === "killed-in-retry" ? 2 : 1 }, () => never(answer)) : [];
  const story: Story = {
    about: [...new Set([name, loss, ...(pauses[pause] ? [pause] : []), refusal, record, location, reading])].join(", "),
    creates: [{ process, answer: losses[loss]! }, ...later],
    ...(status === undefined ? {} : { afterwards: never(serviceError(status, "refused")) }),
    location: locations[location]!,
    ...reads[reading],
    mayBeUnknown: mayStop || record === "added" || !leadingToPayout.has(location),
    mayGiveUp: mayStop,
  };
  return entry(index, fate, { story, ...(exists ? { exists } : {}) });
}

const killOf = ({ loss }: Row, entryIndex: number): Start => ({
  kill: { entryIndex, ...(loss === "killed" ? { on: "recorded", create: 1 } : { on: "received", create: 2 }) },
});

/** The most entries of a scenario: few with kills, because each kill starts the program once more. */
const most = { killed: 6, running: 24 };

/** Distributes rows over scenarios, so that rows with the same loss get into different scenarios. */
function scenariosOf(id: string, chosen: readonly Row[]): Scenario[] {
  const groups = Map.groupBy(chosen, (row) => `${isKilled(row) ? "killed" : "running"} ${row.listing}`);
  const parts = [...groups].flatMap(([name, members]) => {
    const size = name.startsWith("killed") ? most.killed : most.running;
    const count = Math.ceil(members.length / size);
    return Array.from({ length: count }, (_, part) => members.filter((_row, index) => index % count === part));
  });
  return parts.map((members, part): Scenario => {
    const [first] = members;
    const what = `Losses, refusals and records meet in ${members.length} entries`;
    const name = isKilled(first!) ? `${what}, each killed and started again` : what;
    return scenario(`${id}-${part + 1}`, name, {
      entries: members.map((row, index) => entryOf(row, index, part * most.killed + index)),
      ...(first!.listing === "no-lists" ? { lists: "none" } : {}),
      ...(isKilled(first!) ? { starts: [...members.map(killOf), {}] } : {}),
      judges: ["client.no-redirect", "client.key-stays"],
    });
  });
}

export const crossed = scenariosOf("crossed", rows);

/** Returns scenarios with the rows that have a value, such as `then-422`; none if no row has it. For the self-test. */
export const crossedWith = (value: string) =>
  scenariosOf(
    value,
    rows.filter((row) => Object.values(row).includes(value)),
  );
