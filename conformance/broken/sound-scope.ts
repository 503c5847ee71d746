// Sound servers that offer few or no sandbox controls, or that settle slowly.
import type { Hooks } from "./fault.ts";
import { liveAfter } from "./live.ts";
import type { SoundServer } from "./sound-server.ts";
import { html } from "./ways.ts";

/** A server without the paths that match. */
const lacking = (paths: RegExp, env: Record<string, string> = {}): Hooks => ({
  env,
  handle: async (call, ask) => (paths.test(call.path) ? html(404) : ask(call)),
});

export const scopeServers: readonly SoundServer[] = [
  {
    id: "sandbox-without-controls",
    differs: "The server says that it is a sandbox, but has no /sandbox.",
    how: () => lacking(/^\/sandbox/),
  },
  {
    id: "sandbox-without-clock",
    differs: "The sandbox finishes checkouts, but its clock cannot be moved.",
    how: () => lacking(/^\/sandbox\/clock/),
  },
  {
    id: "sandbox-without-lists",
    differs: "The sandbox lists neither events nor deliveries, and does not show the webhook secret.",
    how: () => lacking(/^\/sandbox\/(events|deliveries|webhook-secret)/),
  },
  {
    id: "sandbox-refuses-unknown-paths",
    differs: "The server has no /sandbox, and refuses every unknown path with 400 and 405.",
    how: () => ({
      handle: async (call, ask) =>
        call.path.startsWith("/sandbox") ? html(call.method === "GET" ? 405 : 400) : ask(call),
    }),
  },
  {
    id: "settles-in-seconds",
    differs: "The server is live and payouts settle after three seconds.",
    how: () => liveAfter(3_000),
  },
];
