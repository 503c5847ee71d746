// Servers that mishandle the limits of values (D15) or the addresses of a merchant (D7a), or add limits of their own that
// violate §8 (D45).
import { forEach, type Faults } from "../../broken/fault.ts";
import { accepts, data, forwards, records, refuses, responses, texts } from "../../broken/changes.ts";
import { creates, everyNth, fieldsOf, isText, withFields } from "../../broken/calls.ts";
import { refusal } from "../../broken/replies.ts";

const length = (text: unknown) => (isText(text) ? [...text].length : 0);
/** Changes the reference of a disbursement before the server reads it. */
const references = (change: (reference: string) => string) => texts("createDisbursement", "reference", change);

const ignores = (field: string, pattern: RegExp) => accepts(creates, field, pattern, undefined);

export const faults: Faults = {
  "limits.added: References above 40 characters are refused.": refuses(({ reference }) => length(reference) > 40),
  "limits.reference-length: An empty reference is accepted.": references((text) => text || crypto.randomUUID()),
  "limits.reference-length: The length of a reference is counted in UTF-16 code units.": refuses(
    ({ reference }) => isText(reference) && reference.length > 64,
  ),
  ...forEach(["\0", "\n", "\t", "\u007f", "\u0085"], (character) => [
    `limits.reference-characters: A reference that contains ${JSON.stringify(character)} is accepted.`,
    references((text) => text.replaceAll(character, "_")),
  ]),
  "limits.address-length: A webhookURL of any length is accepted.": accepts(
    creates,
    "webhookURL",
    (value) => length(value) > 2048,
    undefined,
  ),
  "limits.body-size: A body of any size is accepted.": forwards((call) =>
    call.body.length > 16_384 && fieldsOf(call.body) ? withFields(call, fieldsOf(call.body)) : call,
  ),
  "limits.amount-maximum: An amount above the maximum is replaced and paid.": accepts(
    creates,
    "amount",
    (value) => Number(value) > Number.MAX_SAFE_INTEGER,
    1,
  ),
  "limits.amount-maximum-kept: A checkout's amount overflows at 32 bits.": data("createCheckout", (created) => ({
    ...created,
    amount: Number(created["amount"]) | 0,
  })),
  "limits.retry-after: A 429 has no Retry-After.": () => {
    const isFifth = everyNth(5);
    return responses("verifyDisbursement", (reply) => (isFifth() ? refusal(429) : reply));
  },
  "addresses.refused: A webhookURL with a user name is accepted.": ignores("webhookURL", /^(?!mailto).*@/),
  "addresses.refused: A webhookURL without a scheme is accepted.": ignores("webhookURL", /^\/\//),
  "addresses.refused: A redirectURL with the scheme javascript is accepted.": ignores("redirectURL", /^javascript:/),
  "addresses.kept: A webhookURL is normalised.": records(({ webhookURL, ...record }) => ({
    ...record,
    ...(isText(webhookURL) && { webhookURL: new URL(webhookURL).href }),
  })),
  "addresses.left-out: A webhookURL that was not given is null.": records((record) => ({
    webhookURL: null,
    ...record,
  })),
};
