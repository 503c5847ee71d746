// Remembers the last unusual requests that the target accepted. If the target dies, one of them may be the reason: a
// worker may read the stored value long after the response.
import { isAccepted, type TargetRequest, type TargetResponse } from "./exchange.ts";

const mostNamed = 3;
const longestShown = 120;
const largestUsual = 1_000_000;

const isUsualValue = (value: unknown) =>
  typeof value === "string"
    ? /^[\w:/.?=&%-]{0,80}$/.test(value)
    : Number.isInteger(value) && Math.abs(value as number) <= largestUsual;

/** True for a request as merchants send it every day. */
function isUsual({ path, headers, json, body }: TargetRequest): boolean {
  if (headers !== undefined || body !== undefined || !/^[\w/.?=&:-]*$/.test(path)) return false;
  return json === undefined || Object.values(json as object).every((each) => each === undefined || isUsualValue(each));
}

function described({ request, exchange }: TargetResponse): string {
  const { method, path, json, body, headers } = request;
  const content = json === undefined ? (body ?? JSON.stringify(headers ?? {})) : JSON.stringify(json);
  const text = String(content);
  const shown = text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
  return `#${exchange.id} ${method} ${path.slice(0, longestShown)} ${shown}`;
}

export function createSuspects() {
  const last: string[] = [];
  return {
    see(response: TargetResponse) {
      if (!isAccepted(response) || isUsual(response.request)) return;
      last.unshift(described(response));
      last.splice(mostNamed);
    },
    /** Names the requests, the last one first; "" if there are none. */
    text: () =>
      last.length === 0 ? "" : ` after it accepted these unusual requests: ${last.join("; ")}. It was noticed`,
  };
}
