// Scenarios in which something other than the service responds: a gateway, another program, a redirect.
import type { Answer, Forged, Scenario } from "./scenario.ts";
import { gateway } from "./weather.ts";

const nobody = (status: number): Forged => ({ status });
const someJson = (status: number): Forged => ({ status, body: { message: "Forbidden" } });
/** The error body of widespread frameworks. It has the fields of the service's errors, except the code. */
const framework = (status: number): Forged => ({
  status,
  body: { statusCode: status, error: "Unauthorized", message: "Missing token" },
});
const created = '"reference":"{reference}","merchantsReference":"{entry.reference}","amount":{entry.amount},"fee":0';
const page = "<html><body>Please sign in</body></html>";

/** A scenario in which the payout is recorded, and something else responds to the first create. */
const instead = (id: string, what: string, answer: Answer, more: Partial<Scenario> = {}): Scenario => ({
  id,
  name: `The payout is recorded, and the client gets ${what}`,
  creates: [{ process: "now", answer }],
  ...more,
});

const redirect = (status: number, location: string, where: string): Scenario => ({
  id: `redirect-${status}-${where}`,
  name: `Nothing is recorded, and a redirect with ${status} leads ${where === "away" ? "to another server" : "elsewhere on the server"}`,
  creates: [{ process: "never", answer: { status, headers: { location } } }],
  judges: ["client.no-redirect", "client.key-stays"],
});

export const foreignAnswers: readonly Scenario[] = [
  instead("gateway-200", "a page with status 200", gateway(200)),
  instead("gateway-400", "a gateway's page with 400", gateway(400)),
  instead("gateway-401", "a gateway's page with 401", gateway(401)),
  instead("gateway-401-empty", "an empty 401", nobody(401)),
  instead("gateway-403", "a gateway's page with 403", gateway(403)),
  instead("gateway-403-json", "a firewall's JSON with 403", someJson(403)),
  instead("gateway-404", "a gateway's page with 404", gateway(404)),
  instead("gateway-409", "a gateway's page with 409", gateway(409)),
  instead("gateway-422", "a firewall's page with 422", gateway(422)),
  instead("gateway-500", "a gateway's page with 500", gateway(500)),
  instead("gateway-502", "a gateway's page with 502", gateway(502)),
  instead("gateway-503", "a gateway's page with 503", gateway(503)),
  instead("gateway-504", "a gateway's page with 504", gateway(504)),
  instead("page-as-json", "a page that calls itself JSON", {
    status: 200,
    headers: { "content-type": "application/json" },
    body: page,
  }),
  instead("json-as-text", "the service's JSON as text/plain", {
    status: 200,
    headers: { "content-type": "text/plain" },
    honestBody: true,
  }),
  instead("empty-200", "an empty 200", nobody(200)),
  instead("no-content", "a 204", nobody(204)),
  instead("json-null", "the JSON null", { status: 200, headers: { "content-type": "application/json" }, body: "null" }),
  instead("json-list", "an empty JSON list", { status: 200, body: [] }),
  instead("json-empty", "an empty JSON object", { status: 200, body: {} }),
  instead("json-no-data", "an envelope without data", { status: 200, body: { statusCode: 200 } }),
  instead("only-a-status", "a success without a reference", {
    status: 200,
    body: { statusCode: 200, data: { status: "success" } },
  }),
  ...[401, 403, 404].map((status) =>
    instead(
      `gateway-${status}-framework`,
      `the error body of a gateway's framework with ${status}`,
      framework(status),
      {
        mayBeUnknown: 100,
      },
    ),
  ),
  instead("data-text", "an envelope whose data is a text", { status: 200, body: { statusCode: 200, data: "ok" } }),
  instead("data-null", "an envelope whose data is null", { status: 200, body: { statusCode: 200, data: null } }),
  instead("status-added", "a status that a later version of the contract may add", {
    status: 200,
    headers: { "content-type": "application/json" },
    body: `{"statusCode":200,"data":{${created},"status":"reversed"}}`,
  }),
  instead("somebody-elses", "the response of another merchant's payout", "someone-elses"),
  {
    id: "refused-within-200",
    name: "Nothing is recorded, and a gateway wraps an error in a response with status 200",
    creates: [{ process: "never", answer: { status: 200, body: { success: false, error: "upstream timed out" } } }],
  },
  redirect(301, "{foreign}/v1/disbursements", "away"),
  redirect(302, "{foreign}/v1/disbursements", "away"),
  redirect(303, "{foreign}/v1/disbursements/DSB1", "away"),
  redirect(307, "{foreign}/v1/disbursements", "away"),
  redirect(308, "{foreign}/v1/disbursements", "away"),
  redirect(302, "{origin}/elsewhere", "near"),
  redirect(307, "/elsewhere", "near"),
  {
    id: "read-redirected",
    name: "The response to the create is lost, and the first read is redirected to another server",
    creates: [{ process: "now", answer: "drop" }],
    reads: [{ status: 302, headers: { location: "{foreign}/v1/disbursements/DSB1" } }],
    judges: ["client.no-redirect", "client.key-stays"],
  },
];
