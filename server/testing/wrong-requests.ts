import type { RequestOptions } from "./http.ts";
import type { SeededRandom } from "./random.ts";
import { aCheckout, aPayout } from "./server.ts";

/** An invalid request, which the server must refuse. */
export interface WrongRequest {
  method: string;
  path: string;
  options: RequestOptions;
  /** The expected statuses (D1). */
  refusedWith: readonly number[];
}

type Make = (random: SeededRandom) => WrongRequest;
type Value = (random: SeededRandom) => unknown;

const LETTERS = [..."aZ09-._~!$&'()*+,;=:@%"];
const CHARACTERS = [..."aZ09 -_/\\\"'<>{}[]%&?#@:;é\u0301߷٣🧵\u200b\ufeff\u2028", "\ud800", "\0", "\n"];
const text = (random: SeededRandom, alphabet: readonly string[], length: number) =>
  Array.from({ length: random.below(length) }, () => random.pick(alphabet)).join("");
/** Generates text until it does not match, so that the value is never valid. */
const textOutside = (allowed: RegExp): Value => {
  const make: Value = (random) => {
    const value = text(random, CHARACTERS, 30);
    return allowed.test(value) ? make(random) : value;
  };
  return make;
};

const address: Value = (random) =>
  random.pick(["", "/", "ftp://", "javascript:", "http://a:b@", "https://@", "//", "data:,"]) +
  text(random, LETTERS, 20);
/** For each field, makes a value of the right type that is not allowed, which is refused with 422. */
const outOfBounds: Record<string, Value> = {
  reference: (random) => text(random, CHARACTERS, 20) + random.pick(["\0", "\n", "\u007f", "\ud800", "x".repeat(65)]),
  amount: (random) => random.pick([0, -1, -random.below(2 ** 50), 2 ** 53, 1e300, -1e300]),
  phoneNumber: textOutside(/^[0-9]{10,15}$/),
  country: textOutside(/^[A-Z]{2}$/),
  currency: textOutside(/^[A-Z]{3}$/),
  locale: textOutside(/^(en|fr)$/),
  webhookURL: address,
  redirectURL: address,
};
/** Values of a type that no field accepts, which are refused with 400. */
const mistyped: Value = (random) =>
  random.pick([null, true, false, random.next(), [], ["x"], {}, { amount: 1 }, [[[]]], -random.next()]);

const KINDS = [
  {
    path: "/v1/disbursements",
    valid: aPayout,
    fields: ["reference", "amount", "phoneNumber", "country", "currency"],
    more: ["webhookURL"],
  },
  {
    path: "/v1/checkouts",
    valid: aCheckout,
    fields: ["amount", "currency", "country"],
    more: ["reference", "locale", "webhookURL", "redirectURL"],
  },
] as const;

/** The parameter is new each time: it would make a cache with the Content-Type as key grow. */
const contentType = (random: SeededRandom) =>
  `application/json; ${random.pick(["x", "charset=utf-8; v", "boundary"])}=${random.below(2 ** 31)}`;

function post(random: SeededRandom, path: string, body: unknown, refusedWith: number[], headers = {}): WrongRequest {
  return {
    method: "POST",
    path,
    options: { body, headers: { "content-type": contentType(random), ...headers }, chunked: random.below(8) === 0 },
    refusedWith,
  };
}

/** A body with one or more invalid fields. */
const wrongFields: Make = (random) => {
  const { path, valid, fields, more } = random.pick(KINDS);
  const body: Record<string, unknown> = { ...valid() };
  let status = 422;
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const fault = random.below(3);
    const name = random.pick(fault === 0 ? fields : [...fields, ...more]);
    if (fault === 2) body[name] = outOfBounds[name]!(random);
    else {
      status = 400;
      body[name] = fault === 0 ? undefined : mistyped(random);
    }
  }
  // A later fault may replace an earlier one in the same field, so 400 can become 422. The body is never valid.
  return post(random, path, body, status === 400 ? [400, 422] : [422]);
};

/** A body that is not a JSON object, or is ambiguous JSON (D25). */
const brokenJson: Make = (random) => {
  const { path, valid } = random.pick(KINDS);
  const json = JSON.stringify(valid());
  const at = 1 + random.below(json.length - 1);
  const body = random.pick<() => string | Uint8Array>([
    () => json.slice(0, at),
    () => json + text(random, ["x", "}", "]", ",", "0"], 3) + ";",
    () => Buffer.concat([Buffer.from(json.slice(0, at)), Buffer.from([0xff]), Buffer.from(json.slice(at))]),
    () => json.replace("{", `{"amount":${random.below(1_000)}.5,`),
    () => json.replace("{", `{"n":1.${"0".repeat(20)}${1 + random.below(9)},`),
    () => "[".repeat(1 + random.below(16_000)),
    () => `{"a":`.repeat(1 + random.below(3_000)),
    () => JSON.stringify(random.pick([null, [], 1, "x", [valid()], true])),
    () => `{"__proto__":${json}}`,
    () => random.bytes(random.below(300)),
    () => "",
  ])();
  return post(random, path, body, [400]);
};

const tooLarge: Make = (random) =>
  post(random, random.pick(KINDS).path, { ...aPayout(), padding: "x".repeat(16_384 + random.below(20_000)) }, [413]);

const notJson: Make = (random) => {
  const type = random.pick(["text/plain", "multipart/form-data", "application/xml", "application/jsonx", "*/*", "a"]);
  return post(random, random.pick(KINDS).path, aPayout(), [415], {
    "content-type": `${type}; x=${random.below(2 ** 31)}`,
  });
};

const wrongEncoding: Make = (random) =>
  post(random, random.pick(KINDS).path, aPayout(), [400, 415], {
    "content-encoding": random.pick(["gzip", "br", "deflate", "zstd", "wat", "gzip, gzip"]),
  });

const wrongKey: Make = (random) => {
  const { path, valid } = random.pick(KINDS);
  const key = random.pick([null, "", text(random, LETTERS, 80)]);
  return {
    method: "POST",
    path,
    options: { key, body: valid(), headers: { "content-type": contentType(random) } },
    refusedWith: [401],
  };
};

const unknownRecord: Make = (random) => ({
  method: random.pick(["GET", "HEAD"]),
  path: `${random.pick(KINDS).path}/${text(random, LETTERS, 60)}_${random.pick(["", "?a=b", "?x=%zz", "/", "%00", "%2F", "%ff"])}`,
  options: { headers: { "content-type": contentType(random) } },
  refusedWith: [404],
});

const unknownPath: Make = (random) => ({
  method: random.pick(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"]),
  path: `/${random.pick(["v2", "V1", "v1x", "%76%31x", "_", "v1/"])}/${text(random, [...LETTERS, "/", "..", "//"], 60)}`,
  options: { headers: { "content-type": contentType(random) } },
  refusedWith: [404],
});

const wrongMethod: Make = (random) => ({
  method: random.pick(["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY"]),
  path: random.pick(["/v1/disbursements", "/v1/checkouts", "/v1/checkouts/x", "/sandbox/reset", "/healthz"]),
  options: { headers: { "content-type": contentType(random) } },
  refusedWith: [405],
});

const wrongControl: Make = (random) => {
  const path = random.pick(["/sandbox/clock/advance", `/sandbox/checkouts/${text(random, ["x", "%20"], 9)}x/finish`]);
  const body = random.pick([{}, { seconds: "1", outcome: 1 }, { seconds: -1, outcome: "lost" }, { seconds: 1.5 }, []]);
  if (random.below(2) === 0) return post(random, path, body, [400, 422]);
  const query = random.pick(["limit=0", "limit=x", "limit=101", "limit=1&limit=2", "status=&limit=-1", "limit=1e99"]);
  const list = random.pick(["sandbox/events", "sandbox/deliveries", "v1/disbursements", "v1/checkouts"]);
  const options = { headers: { "content-type": contentType(random) } };
  return { method: "GET", path: `/${list}?${query}`, options, refusedWith: [400, 422] };
};

/** Repeated entries weight the choice. */
const MAKERS: readonly Make[] = [
  ...Array.from({ length: 8 }, () => wrongFields),
  ...Array.from({ length: 5 }, () => brokenJson),
  tooLarge,
  notJson,
  wrongEncoding,
  wrongKey,
  unknownRecord,
  unknownRecord,
  unknownPath,
  wrongMethod,
  wrongControl,
];

/** Generates a request with an invalid form, type, range, path, method or key. */
export const wrongRequest: Make = (random) => random.pick(MAKERS)(random);
