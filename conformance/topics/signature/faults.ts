// Servers whose webhooks are signed incorrectly (D12).
import { type Faults, type Message } from "../../broken/fault.ts";
import { data, forwards } from "../../broken/changes.ts";
import { isOf, withKey, type Fields } from "../../broken/calls.ts";
import { changesMessage, losesHeader, signed, timestampOf, withWebhookHeaders } from "../../broken/webhooks.ts";

const otherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/** Sends another timestamp, under a valid signature. */
const dates = (change: (message: Message) => number) =>
  changesMessage((message) => signed(withWebhookHeaders(message, { "webhook-timestamp": String(change(message)) })));

export const faults: Faults = {
  "signature.headers: Webhooks are not signed.": losesHeader("webhook-signature"),
  "signature.headers: webhook-timestamp is in milliseconds.": dates((message) => timestampOf(message) * 1000),
  "signature.timestamp-real: webhook-timestamp is in sandbox time.": dates(({ at }) => Math.floor(at / 1000)),
  "signature.verifies: Webhooks are signed with a secret that is not the merchant's.": changesMessage((message) =>
    signed(message, [otherSecret]),
  ),
  "signature.verifies: The signature is computed over the body in Latin-1.": changesMessage((message) => ({
    ...signed({ ...message, body: Buffer.from(message.body, "latin1").toString("latin1") }),
    body: message.body,
  })),
  "signature.rotation: After a rotation the old secret stops signing immediately.": changesMessage((message) =>
    signed(message, message.secrets.slice(0, 1)),
  ),
  "signature.rotation: After a rotation the old secret never stops signing.": () => {
    const all = new Set<string>();
    return changesMessage((message) => {
      for (const secret of message.secrets) all.add(secret);
      return signed(message, [...new Set([...message.secrets, ...all])]);
    });
  },
  "signature.rotation-own: Merchants share one webhook secret.": forwards((call, { secondKey }) =>
    isOf(call, "readWebhookSecret") ? withKey(call, secondKey) : call,
  ),
  "signature.five-secrets: An old secret never expires.": data("readWebhookSecret", ({ secret, previousSecrets }) => {
    const old = [{ secret, expiresAt: "2020-01-01T00:00:00.000Z" }];
    return { secret, previousSecrets: (previousSecrets as Fields[]).length === 0 ? old : previousSecrets };
  }),
};
