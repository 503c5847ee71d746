// The model as a target without sandbox controls, whose payouts succeed at once. Tests add faults; with a fault it must not
// be certified.
import type { IncomingHttpHeaders } from "node:http";
import type { Hooks } from "../model/merchant.ts";
import type { Reply } from "../model/messages.ts";
import { newKey, startModel } from "../model/server.ts";

export type ServiceReply = { status: number; body?: unknown; headers?: Record<string, string>; raw?: string };
export type SeenRequest = {
  method: string;
  path: string;
  key: string | undefined;
  body: string;
  headers: IncomingHttpHeaders;
};

type Settings = {
  key: string;
  /** Another merchant's key. */
  secondKey?: string;
  /** The secret that /sandbox/webhook-secret returns. If undefined, that path returns 404. */
  secret?: string;
  /** The path before /v1. */
  prefix?: string;
  /** The environment that /healthz returns. If undefined, that path returns 404. */
  environment?: "sandbox" | "live";
  /** Replies in place of the service, which then does not see the request. */
  instead?: (seen: SeenRequest) => ServiceReply | undefined;
  /**
   * Replaces each response. If it returns undefined, the connection is closed; if its promise stays pending, so does
   * the response. `count` is 1 for the first request, 2 for the second, and so on.
   */
  alter?: (reply: ServiceReply, seen: SeenRequest, count: number) => ServiceReply | undefined | Promise<never>;
};

const notFound: ServiceReply = { status: 404, body: { statusCode: 404, error: "Not Found" } };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const replyOf = (reply: Reply | undefined): ServiceReply => {
  const { status, headers, text } = reply!;
  const body = parsed(text);
  return { status, headers: headers as Record<string, string>, ...(body === undefined ? { raw: text } : { body }) };
};
const modelReply = ({ status, headers, raw, body }: ServiceReply): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  text: raw ?? (body === undefined ? "" : JSON.stringify(body)),
});

/** Starts the service on a free port. */
export async function startSoundTarget(settings: Settings) {
  const { key, secondKey = newKey(), secret, prefix = "", environment, instead, alter = (reply) => reply } = settings;
  const seen: SeenRequest[] = [];

  function own({ path, key: given = "" }: SeenRequest): ServiceReply | undefined {
    if (path === "/healthz") return environment ? { status: 200, body: { environment } } : notFound;
    if (path !== "/sandbox/webhook-secret" || secret === undefined) return undefined;
    return [key, secondKey].includes(given) ? { status: 200, body: { statusCode: 200, data: { secret } } } : undefined;
  }
  const hooks: Hooks = {
    settings: { sandbox: false, settleMs: 0 },
    async handle(received, ask) {
      const call = { ...received, path: received.path.replace(prefix, "") };
      const { method, path, headers, body } = call;
      const request = { method, path, headers, key: headers["x-api-key"] as string | undefined, body: body.toString() };
      seen.push(request);
      const response = instead?.(request) ?? own(request) ?? replyOf(await ask(call));
      const reply = await alter(response, request, seen.length);
      return reply && modelReply(reply);
    },
  };
  const model = await startModel(hooks, [key, secondKey]);
  /** `seen` has the requests received so far. */
  return { ...model, url: model.url + prefix, seen };
}
