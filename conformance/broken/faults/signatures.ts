// Servers whose webhooks are signed incorrectly (D12).
import { type Fault, fault, quickFault } from "../fault.ts";
import { timestampOf, signed, withHeaders, withoutHeader, changesMessage } from "../messages.ts";

const otherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

export const faults: readonly Fault[] = [
  fault("signature-missing", "Webhooks are not signed.", "signature.headers signature.verifies", () =>
    changesMessage((message) => withoutHeader(message, "webhook-signature")),
  ),
  quickFault("id-missing", "Webhooks have no id.", "signature.headers", () =>
    changesMessage((message) => withoutHeader(message, "webhook-id")),
  ),
  fault("timestamp-missing", "Webhooks have no timestamp.", "signature.headers", () =>
    changesMessage((message) => withoutHeader(message, "webhook-timestamp")),
  ),
  fault("timestamp-in-ms", "webhook-timestamp is in milliseconds.", "signature.headers signature.timestamp-real", () =>
    changesMessage((message) =>
      signed(withHeaders(message, { "webhook-timestamp": String(timestampOf(message) * 1000) })),
    ),
  ),
  fault("timestamp-in-sandbox-time", "webhook-timestamp is in sandbox time.", "signature.timestamp-real", () =>
    changesMessage((message) =>
      signed(
        withHeaders(message, {
          "webhook-timestamp": String(timestampOf(message) + Math.round(message.claimed.merchant.clockOffset / 1000)),
        }),
      ),
    ),
  ),
  fault(
    "timestamp-of-event",
    "webhook-timestamp is the time of the event instead of the attempt.",
    "signature.timestamp-real",
    () =>
      changesMessage((message) =>
        signed(withHeaders(message, { "webhook-timestamp": String(Math.floor(message.claimed.createdAt / 1000)) })),
      ),
  ),
  fault("signature-in-hex", "Signatures are encoded in hexadecimal.", "signature.headers signature.verifies", () =>
    changesMessage((message) =>
      withHeaders(message, {
        "webhook-signature": `v1,${Buffer.from((message.headers["webhook-signature"] ?? "").slice(3), "base64").toString("hex")}`,
      }),
    ),
  ),
  fault("signature-without-version", "Signatures have no version prefix.", "signature.headers signature.verifies", () =>
    changesMessage((message) =>
      withHeaders(message, { "webhook-signature": (message.headers["webhook-signature"] ?? "").slice(3) }),
    ),
  ),
  fault(
    "signature-with-other-secret",
    "Webhooks are signed with a secret that is not the merchant's.",
    "signature.verifies",
    () => changesMessage((message) => signed(message, [otherSecret])),
  ),
  fault("signature-over-body-alone", "The signature does not cover id and timestamp.", "signature.verifies", () =>
    changesMessage((message) => {
      const only = signed({ ...message, headers: { ...message.headers, "webhook-id": "", "webhook-timestamp": "0" } });
      return withHeaders(message, { "webhook-signature": only.headers["webhook-signature"] ?? "" });
    }),
  ),
  fault(
    "signature-over-other-body",
    "The body that is sent differs from the body that was signed.",
    "signature.verifies",
    () => changesMessage((message) => ({ ...message, body: `${message.body} ` })),
  ),
  fault("signature-over-latin-1", "The signature is computed over the body in Latin-1.", "signature.verifies", () =>
    changesMessage((message) => {
      const inLatin1 = Buffer.from(message.body, "latin1").toString("latin1");
      return withHeaders(message, {
        "webhook-signature": signed({ ...message, body: inLatin1 }).headers["webhook-signature"] ?? "",
      });
    }),
  ),
  fault(
    "signature-over-escaped-body",
    "The signature is computed over a body in which non-ASCII characters are escaped.",
    "signature.verifies",
    () =>
      changesMessage((message) => {
        const escaped = message.body.replaceAll(
          /[^\0-\u007f]/g,
          (character) => String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
        return withHeaders(message, {
          "webhook-signature": signed({ ...message, body: escaped }).headers["webhook-signature"] ?? "",
        });
      }),
  ),
  fault("rotation-drops-old", "After a rotation the old secret stops signing immediately.", "signature.rotation", () =>
    changesMessage((message) => signed(message, [message.claimed.secrets.current])),
  ),
  fault("rotation-keeps-old", "After a rotation the old secret never stops signing.", "signature.rotation", () =>
    changesMessage((message) => {
      const { current, previous } = message.claimed.secrets;
      return signed(message, [current, ...previous.map(({ secret }) => secret)]);
    }),
  ),
  fault("rotation-does-nothing", "A rotation does not change the secret.", "signature.rotation", () => ({
    storage: ({ readSecrets }) => ({ rotateSecret: (merchantId) => readSecrets(merchantId) }),
  })),
];
