// The table that says which responses to a create prove that nothing was paid: computed by the client's code that decides
// it. client/create.test.ts proves the rows about failures without a response.
import { DuplicateReferenceError } from "../../client/errors.ts";
import { outcomeOfReply } from "../../client/outcome.ts";
import { table } from "./tables.ts";

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
