// Starts a webhook receiver in each framework that the client supports, with the same options.
import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { receiveWebhooks as receiveExpress } from "./express.ts";
import { receiveWebhooks as receiveFastify } from "./fastify.ts";
import { receiveWebhooks as receiveFetch } from "./fetch.ts";
import { receiveWebhooks as receiveHono } from "./hono.ts";
import type { ReceiverOptions } from "./receiver.ts";

export interface RunningReceiver {
  /** Receives webhooks. */
  url: string;
  /** Behind a JSON body parser, a mistake that the receiver must report. */
  parsedUrl: string;
  stop(): Promise<void>;
}

type Start = (options: ReceiverOptions) => Promise<RunningReceiver>;

export const receivers: Record<string, Start> = {
  async Express(options) {
    const app = express();
    app.post("/webhooks", receiveExpress(options));
    app.post("/parsed", express.json({ type: "*/*" }), receiveExpress(options));
    return listen(createServer(app));
  },

  async Fastify(options) {
    const app = fastify({ forceCloseConnections: true });
    app.register(receiveFastify(options), { prefix: "/webhooks" });
    app.register(
      async (scope) => {
        scope.addHook("preParsing", async (request, _, payload) => {
          await text(payload);
          return request.raw;
        });
        scope.register(receiveFastify(options));
      },
      { prefix: "/parsed" },
    );
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url: `${origin}/webhooks`, parsedUrl: `${origin}/parsed`, stop: () => app.close() };
  },

  async Hono(options) {
    const app = new Hono();
    app.post("/webhooks", receiveHono(options));
    app.use("/parsed", async (context, next) => {
      await context.req.json();
      await next();
    });
    app.post("/parsed", receiveHono(options));
    return listen(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server);
  },

  async fetch(options) {
    const receive = receiveFetch(options);
    const parsed = async (request: Request) => {
      await request.json();
      return receive(request);
    };
    const route = (request: Request) => (new URL(request.url).pathname === "/webhooks" ? receive : parsed)(request);
    return listen(createAdaptorServer({ fetch: route, overrideGlobalObjects: false }) as Server);
  },
};

async function listen(server: Server): Promise<RunningReceiver> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/webhooks`,
    parsedUrl: `${origin}/parsed`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
