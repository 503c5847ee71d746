// Sound servers that offer few or no sandbox controls, or that settle slowly.
import type { Hooks } from "./fault.ts";
import { liveAfter } from "./live.ts";
import { sound, type SoundServer } from "./sound-server.ts";
import { html } from "./ways.ts";

/** A server without the paths that match. */
const lacking = (paths: RegExp): Hooks => ({
  handle: async (call, ask) => (paths.test(call.path) ? html(404) : ask(call)),
});

export const scopeServers: readonly SoundServer[] = [
  sound("sandbox-without-controls", "The server says that it is a sandbox, but has no /sandbox.", () =>
    lacking(/^\/sandbox/),
  ),
  sound("sandbox-without-clock", "The sandbox finishes checkouts, but its clock cannot be moved.", () =>
    lacking(/^\/sandbox\/clock/),
  ),
  sound(
    "sandbox-without-lists",
    "The sandbox lists neither events nor deliveries, and does not show the webhook secret.",
    () => lacking(/^\/sandbox\/(events|deliveries|webhook-secret)/),
  ),
  sound(
    "sandbox-refuses-unknown-paths",
    "The server has no /sandbox, and refuses every unknown path with 400 and 405.",
    () => ({
      handle: async (call, ask) =>
        call.path.startsWith("/sandbox") ? html(call.method === "GET" ? 405 : 400) : ask(call),
    }),
  ),
  sound("settles-in-seconds", "The server is live and payouts settle after three seconds.", () => liveAfter(3_000)),
];
