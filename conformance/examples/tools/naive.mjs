// Tools as they are often written: a new key for every call, and an error for whatever went wrong.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const { BASE_URL, API_KEY, TIMEOUT_MS } = process.env;
const properties = {
  phoneNumber: { type: "string" },
  amount: { type: "number", description: "In the lowest denomination" },
  country: { type: "string" },
  currency: { type: "string" },
  purpose: { type: "string" },
};
const tools = [
  {
    name: "send_payout",
    description: "Sends money to a mobile wallet.",
    inputSchema: { type: "object", properties, required: Object.keys(properties) },
    annotations: { idempotentHint: true },
  },
];

async function sendPayout({ purpose, ...payment }) {
  const response = await fetch(`${BASE_URL}/v1/disbursements`, {
    method: "POST",
    headers: { "x-api-key": API_KEY, "content-type": "application/json" },
    body: JSON.stringify({ ...payment, reference: `agent-${randomUUID()}` }),
    signal: AbortSignal.timeout(Number(TIMEOUT_MS)),
  });
  const { data, message } = await response.json();
  if (!response.ok) throw new Error(message);
  return { result: data.status, note: `${purpose}: ${data.reference}` };
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "naive", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  async "tools/call"({ arguments: args }) {
    try {
      return { content: [{ type: "text", text: JSON.stringify(await sendPayout(args)) }] };
    } catch (error) {
      return {
        isError: true,
        content: [{ type: "text", text: `The payout failed: ${error.message}. Please try again.` }],
      };
    }
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const run = methods[method];
  const answer = run ? { result: await run(params) } : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
