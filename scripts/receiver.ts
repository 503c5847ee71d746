// Prints each webhook that has a valid signature: WEBHOOK_SECRET=whsec_… npx node scripts/receiver.ts 4000
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { verifyWebhook, WebhookError } from "../client/webhooks.ts";

const secret = process.env.WEBHOOK_SECRET;
const port = Number(process.argv[2] ?? 4000);
function quit(message: string): never {
  console.error(message);
  process.exit(1);
}
if (!secret) quit("Set WEBHOOK_SECRET to the secret returned by GET /sandbox/webhook-secret.");

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
server.on("error", ({ message }) => quit(`${message}: choose another port.`));
server.listen(port, "127.0.0.1", () => console.log(JSON.stringify(server.address())));
