import type { Hooks, RequestInfo, ResponseInfo, RetryInfo } from "./options.ts";

/** What the client writes to the console: nothing, failed attempts, or everything that hooks receive. */
export type LogLevel = "off" | "warn" | "debug";

/** Makes each hook also write what it receives to the console. */
export function logHooks(hooks: Required<Hooks>, level: LogLevel): Required<Hooks> {
  const logged =
    (name: keyof Hooks) =>
    (info: RequestInfo | ResponseInfo | RetryInfo): unknown => {
      const hasFailed = "error" in info && info.error;
      if (level === "debug" || (level === "warn" && hasFailed)) console.log(`disbursement-checkout ${name}`, info);
      return hooks[name](info as never);
    };
  return { onRequest: logged("onRequest"), onResponse: logged("onResponse"), onRetry: logged("onRetry") };
}
