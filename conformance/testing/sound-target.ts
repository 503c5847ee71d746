// The model as a target without sandbox controls, whose payouts succeed at once. Tests add faults; with a fault it must not
// be certified.
import type { IncomingHttpHeaders } from "node:http";
import { Merchant, type Hooks } from "../model/merchant.ts";
import type { Call, Reply } from "../model/messages.ts";
import { listen, send } from "../model/server.ts";
import { createService } from "../model/service.ts";

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

const replyOf = ({ status, headers, text }: Reply): ServiceReply => {
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
  const { key, secondKey, secret, prefix = "", environment, instead, alter = (reply) => reply } = settings;
  const hooks: Hooks = { settings: { sandbox: false, settleMs: 0 } };
  const keys = [key, ...(secondKey === undefined ? [] : [secondKey])];
  const merchants = keys.map((each) => new Merchant("M", each, hooks));
  const ask = createService(merchants, hooks, () => server.url + prefix);
  const seen: SeenRequest[] = [];

  async function respond(call: Call): Promise<ServiceReply> {
    if (call.path === "/healthz") return environment ? { status: 200, body: { environment } } : notFound;
    if (
      call.path === "/sandbox/webhook-secret" &&
      secret !== undefined &&
      keys.includes(String(call.headers["x-api-key"]))
    )
      return { status: 200, body: { statusCode: 200, data: { secret } } };
    const reply = await ask(call);
    return reply ? replyOf(reply) : notFound;
  }

  const server = await listen(async (received, _request, response) => {
    const call = { ...received, path: received.path.replace(prefix, "") };
    const { method, path, headers, body } = call;
    const given = headers["x-api-key"] as string | undefined;
    const arrived = { method, path, key: given, body: body.toString(), headers: headers as IncomingHttpHeaders };
    seen.push(arrived);
    const reply = await alter(instead?.(arrived) ?? (await respond(call)), arrived, seen.length);
    send(response, reply && modelReply(reply));
  });
  return {
    url: server.url + prefix,
    /** The requests received so far. */
    seen,
    async stop() {
      for (const { state } of merchants) state.clock.close();
      await server.stop();
    },
  };
}
