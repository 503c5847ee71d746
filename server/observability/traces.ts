import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as spans,
  type Attributes,
  type HrTime,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { Ids } from "../domain/ids.ts";
import { childOf, readTraceparent, type Telemetry, type Trace } from "../domain/telemetry.ts";
import packageJson from "../package.json" with { type: "json" };

const { name, version } = packageJson;
/** How many spans may wait for the collector; more are dropped. */
const WAITING = 2_048;
/** Not traced, because other programs request these paths every few seconds. */
const PROBES = new Set(["/healthz", "/readyz", "/metrics"]);

export interface Traces {
  /** Begins a trace for a request without `traceparent`. Returns undefined if it is not sampled. */
  begin(): Trace | undefined;
  /** Sends the spans that wait. Resolves after `timeoutMs` of real time at the latest. */
  close(timeoutMs: number): Promise<void>;
}

/** Where and how to send traces, as OpenTelemetry's standard variables say. */
export interface TracesSettings {
  /** The address that takes spans over OTLP/HTTP, in JSON. */
  url: string;
  /** Sent with every request; may contain a secret. */
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  /** Further attributes of the service. */
  attributes: Readonly<Record<string, string>>;
  /** The share of traces to send, from 0 to 1. With `parentBased`, the decision of the caller takes precedence. */
  sampler: { parentBased: boolean; ratio: number };
}

export interface TracesContext {
  settings: TracesSettings;
  telemetry: Pick<Telemetry, "on">;
  clock: Clock;
  ids: Pick<Ids, "span" | "trace">;
  log: Logger;
}

/** Work that has just ended. */
interface Work {
  name: string;
  kind?: SpanKind;
  durationMs: number;
  failed?: boolean;
  attributes: Attributes;
}

/** Sends spans of the server's work to a collector (D60). They have no secret, phone number or body. */
export function startTraces({ settings, telemetry: { on }, clock, ids, log }: TracesContext): Traces {
  const { url, headers, serviceName, attributes: ofService, sampler: sampled } = settings;
  const root = new TraceIdRatioBasedSampler(sampled.ratio);
  const sampler = sampled.parentBased ? new ParentBasedSampler({ root }) : root;
  const exporter = reporting(new OTLPTraceExporter({ url, headers }), log);
  // Each span gets the ids that were passed on when its work began.
  let place: Trace;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.version": version, ...ofService, "service.name": serviceName }),
    sampler,
    idGenerator: { generateTraceId: () => place.traceId, generateSpanId: () => place.spanId },
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: WAITING })],
  });
  const tracer = provider.getTracer(name, version);

  function begin(): Trace | undefined {
    const traceId = ids.trace();
    const { decision } = sampler.shouldSample(ROOT_CONTEXT, traceId, "", SpanKind.INTERNAL, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED ? { traceId, spanId: ids.span(), flags: "01" } : undefined;
  }

  function record(trace: Trace | undefined, work: Work): void {
    if (!trace) return;
    place = trace;
    const { traceId, parentId, flags } = trace;
    const { kind = SpanKind.INTERNAL, durationMs, attributes } = work;
    const caller = { traceId, spanId: parentId!, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    const parent = parentId === undefined ? ROOT_CONTEXT : spans.setSpanContext(ROOT_CONTEXT, caller);
    const endedAt = clock.now();
    const span = tracer.startSpan(work.name, { kind, attributes, startTime: hrTime(endedAt - durationMs) }, parent);
    if (work.failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(hrTime(endedAt));
  }

  on("request", ({ trace, operationId, method, route, status, durationMs, requestId, merchantId }) => {
    if (PROBES.has(route)) return;
    record(trace, {
      name: operationId ?? `${method} ${route}`,
      kind: SpanKind.SERVER,
      durationMs,
      failed: status === undefined || status >= 500,
      attributes: {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": status,
        "request.id": requestId,
        "merchant.id": merchantId,
      },
    });
  });
  on("commit", ({ items, durationMs }) =>
    record(begin(), { name: "commit", durationMs, attributes: { "commit.items": items } }),
  );
  on("settled", ({ merchantId, delayMs, traceparent }) => {
    const cause = readTraceparent(traceparent);
    const attributes = { "merchant.id": merchantId, "settlement.delay_ms": delayMs };
    record(cause ? childOf(cause, ids.span()) : begin(), { name: "settlement", durationMs: 0, attributes });
  });
  on("attempt", ({ trace = begin(), eventId, merchantId, status, httpStatus, durationMs, delayMs }) =>
    record(trace, {
      name: "webhook attempt",
      kind: SpanKind.CLIENT,
      durationMs,
      failed: status !== "delivered",
      attributes: {
        "http.request.method": "POST",
        "http.response.status_code": httpStatus,
        "webhook.id": eventId,
        "webhook.status": status,
        "webhook.delay_ms": delayMs,
        "merchant.id": merchantId,
      },
    }),
  );

  return {
    begin,
    async close(timeoutMs) {
      const ended = new AbortController();
      const closed = provider.shutdown().catch(() => undefined);
      await Promise.race([closed, clock.sleep(timeoutMs, ended.signal)]);
      ended.abort();
    },
  };
}

/** Logs once when the collector stops accepting spans, and once when it accepts them again. */
function reporting(exporter: SpanExporter, log: Logger): SpanExporter {
  let failing = false;
  return {
    export(batch, done) {
      exporter.export(batch, ({ error }) => {
        if (error && !failing)
          log.error({ detail: error.message }, "the collector does not accept traces; they are lost");
        if (!error && failing) log.info("the collector accepts traces again");
        failing = error !== undefined;
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** If a number is smaller than the process's start time, the library takes it for a duration since the start. */
function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1_000);
  return [seconds, Math.floor((milliseconds - seconds * 1_000) * 1e6)];
}
