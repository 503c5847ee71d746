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

type Attributes = { key: string; value: Record<string, unknown> }[];
const toObject = (attributes: Attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export type Collector = Awaited<ReturnType<typeof startCollector>>;

/** A collector of traces on a free port, which takes OTLP over HTTP in JSON. */
export async function startCollector() {
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
  const collector = {
    url,
    spans: [] as CollectedSpan[],
    /** The attributes of the service that sent the last spans. */
    resource: {} as Record<string, unknown>,
    /** How many requests have been received. */
    requests: 0,
    /** The headers of the last request. */
    headers: {} as IncomingHttpHeaders,
    /** All bodies received so far, as text. */
    text: () => JSON.stringify(bodies),
    /** Sets the status of all further responses; 0 sends none. */
    respondWith(next: number) {
      status = next;
    },
    close,
  };
  return collector;
}
