// `npm run receiver -- [PORT] [SERVER]`: prints each webhook that has a valid signature. The secret is WEBHOOK_SECRET.
// If that is not set, it is read with API_KEY from the sandbox SERVER, by default the one that this folder starts.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { verifyWebhook, WebhookError } from "../client/webhooks/webhooks.ts";
import { readConfig } from "../server/config.ts";

const [port = "4000", sandbox = readConfig(process.env).publicUrl] = process.argv.slice(2);
const { API_KEY, WEBHOOK_SECRET } = process.env;

function quit(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Reads the webhook secret of the key's merchant. */
async function secretFor(key: string): Promise<string> {
  const url = `${sandbox}/sandbox/webhook-secret`;
  const response = await fetch(url, { headers: { "x-api-key": key } }).catch(() =>
    quit(`${sandbox} is unreachable. Start the server first, or give its address: npm run receiver -- ${port} URL`),
  );
  if (!response.ok) quit(`GET ${url} returned ${response.status}. Is API_KEY a key of this server?`);
  const { data } = (await response.json()) as { data: { secret: string } };
  return data.secret;
}

const secret = WEBHOOK_SECRET ?? (API_KEY && (await secretFor(API_KEY)));
if (!secret) quit("Set API_KEY to the key of a sandbox, or WEBHOOK_SECRET to a merchant's webhook secret.");

const server = createServer(async (request, response) => {
  const body = await text(request);
  try {
    const { id, event } = await verifyWebhook(body, request.headers, secret);
    console.log(JSON.stringify({ id, ...event }));
    response.writeHead(204).end();
  } catch (error) {
    console.error((error as Error).message);
    response.writeHead(error instanceof WebhookError ? 400 : 500).end();
  }
});
server.on("error", ({ code, message }: NodeJS.ErrnoException) =>
  quit(
    code === "EADDRINUSE"
      ? `Port ${port} is in use, perhaps by a receiver that runs already. Stop it, or choose another port.`
      : `${message}: choose another port.`,
  ),
);
server.listen(Number(port), "127.0.0.1", () =>
  console.log(`Receiving webhooks at http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
);
