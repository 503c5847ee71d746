import type { IncomingHttpHeaders } from "node:http";
import { json } from "node:stream/consumers";
import { serve } from "./serve.ts";

/** A span as OTLP sends it in JSON, with its attributes as an object. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number };
  attributes: Record<string, unknown>;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** The attributes of the service that sent the last spans. */
  resource: Record<string, unknown>;
  /** How many requests have been received. */
  requests: number;
  /** The headers of the last request. */
  headers: IncomingHttpHeaders;
  /** All bodies received so far, as text. */
  text(): string;
  /** Sets the status of all further responses; 0 sends none. */
  respondWith(status: number): void;
  close(): Promise<void>;
}

type Attributes = { key: string; value: Record<string, unknown> }[];
const toObject = (attributes: Attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A collector of traces on a free port, which takes OTLP over HTTP in JSON. */
export async function startCollector(): Promise<Collector> {
  let status = 200;
  const bodies: unknown[] = [];
  const { url, close } = await serve(async (request, response) => {
    const body = (await json(request)) as any;
    collector.headers = request.headers;
    collector.requests += 1;
    if (status === 0) return;
    if (status === 200) {
      bodies.push(body);
      for (const { resource, scopeSpans } of body.resourceSpans) {
        collector.resource = toObject(resource.attributes);
        const received = scopeSpans.flatMap(({ spans }: any) => spans);
        collector.spans.push(...received.map((span: any) => ({ ...span, attributes: toObject(span.attributes) })));
      }
    }
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  const collector: Collector = {
    url,
    spans: [],
    resource: {},
    requests: 0,
    headers: {},
    text: () => JSON.stringify(bodies),
    respondWith: (next) => {
      status = next;
    },
    close,
  };
  return collector;
}
