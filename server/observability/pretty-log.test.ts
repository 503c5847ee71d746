import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTelemetry, type Emit } from "../domain/telemetry.ts";
import { createLog } from "../log.ts";
import { logTelemetry } from "./log-telemetry.ts";
import { prettyLine } from "./pretty-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "log-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns what the log shows on a terminal. */
async function shown(color: boolean, write: (parts: Parts) => void): Promise<string> {
  const file = join(folder, "log");
  const { log, flush } = createLog("info", openSync(file, "a"), prettyLine(color));
  write(partsOf(log));
  await flush(5_000);
  return readFileSync(file, "utf8");
}

interface Parts {
  log: Logger;
  emit: Emit;
}

function partsOf(log: Logger): Parts {
  const { emit, on } = createTelemetry((error) => expect.unreachable(String(error)));
  logTelemetry({ on }, log);
  return { emit, log };
}

test("a request is one line that a person can read", async () => {
  const request = { requestId: "req_1", method: "POST", route: "/v1/disbursements", durationMs: 3.24, status: 200 };
  const text = await shown(false, ({ emit }) => {
    emit("request", { ...request, merchantId: "m-1", operationId: "createDisbursement", client: "127.0.0.0/24" });
    emit("request", { ...request, status: undefined });
  });
  const [first, second] = text.split("\n");
  expect(first).toMatch(
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: POST \/v1\/disbursements 200 3\.2 ms \{"requestId":"req_1","merchantId":"m-1"\}$/,
  );
  expect(second).toContain("POST /v1/disbursements no response 3.2 ms");
});

test("other lines keep their message, and an error its stack", async () => {
  const text = await shown(false, ({ log, emit }) => {
    log.warn({ aheadMs: 5 }, "the system clock was set back");
    emit("storage", { working: false, message: "The storage is full.", error: new Error("disk full") });
  });
  expect(text).toMatch(/WARN: the system clock was set back \{"aheadMs":5\}/);
  expect(text).toMatch(/ERROR: The storage is full\.[^]*Error: disk full\n +at /);
});

const hello = ({ log }: Parts) => log.info("hello");

test("colours are used only if they are wanted", async () => {
  expect(await shown(true, hello)).toContain("\u001b[");
  rmSync(join(folder, "log"));
  expect(await shown(false, hello)).not.toContain("\u001b[");
});
