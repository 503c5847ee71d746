// Invents the merchant that a run plays: its references, addresses, words and programs. All of this follows from the
// seed and the run's id, and differs from run to run. A service therefore cannot distinguish the suite from its other
// merchants by the appearance of the requests.
import { createHash } from "node:crypto";
import { createRandom, pick, type Random } from "./random.ts";

export type MerchantOptions = { seed: number; runId: string };

type Headers = Record<string, string | string[]>;

const digits = "0123456789";
const letters = "abcdefghijklmnopqrstuvwxyz";

type IdStyle = { alphabet: string; length: number; most: number };

/**
 * The characters of an id, their number, and the maximum length of the word before the id. References are short, because
 * a deployment may permit only short ones. The last ten characters distinguish an id from the ids of other runs.
 */
const idStyles: readonly [IdStyle, ...IdStyle[]] = [
  { alphabet: digits, length: 14, most: 3 },
  { alphabet: "0123456789abcdef", length: 12, most: 4 },
  { alphabet: digits + letters, length: 11, most: 4 },
  { alphabet: "23456789abcdefghjkmnpqrstuvwxyz", length: 11, most: 4 },
];

/** Returns a text of these characters that the name determines. */
function derived(name: string, alphabet: string, length: number): string {
  let number = BigInt(`0x${createHash("sha256").update(name).digest("hex")}`);
  let text = "";
  for (; text.length < length; number /= BigInt(alphabet.length))
    text += alphabet[Number(number % BigInt(alphabet.length))];
  return text;
}

const wordOf = (random: Random, length: number) =>
  Array.from({ length }, (_, index) =>
    pick(random, [...(index % 2 === 0 ? "bdfgklmnprstvz" : "aeiou")] as [string]),
  ).join("");

/**
 * Returns the merchant's reference with this number. Every target accepts it, because it has 13 to 17 characters, which
 * are lower-case letters, digits and a hyphen. It begins with a letter.
 */
export function referenceOf({ seed, runId }: MerchantOptions, number: number): string {
  const random = createRandom(seed, "references");
  const { alphabet, length, most } = pick(random, idStyles);
  const prefix = wordOf(random, random(2, most)) + pick(random, most > 3 ? ["", "-"] : [""]);
  return prefix + derived(`reference ${runId} ${number}`, alphabet, length);
}

/**
 * The headers of programs that merchants use, in their order. A header without a value gets its value from the request,
 * or is left out. `Host` and `Connection` come last unless the program lists them.
 */
const programs: readonly [(random: Random) => Headers, ...((random: Random) => Headers)[]] = [
  (random) => ({
    Accept: "application/json, text/plain, */*",
    "Content-Type": "",
    "x-api-key": "",
    "User-Agent": `axios/1.${random(4, 13)}.${random(0, 9)}`,
    "Content-Length": "",
    "Accept-Encoding": "gzip, compress, deflate, br",
  }),
  () => ({
    Host: "",
    connection: "keep-alive",
    "content-type": "",
    "x-api-key": "",
    accept: "*/*",
    "accept-language": "*",
    "sec-fetch-mode": "cors",
    "user-agent": "node",
    "accept-encoding": "gzip, deflate",
    "content-length": "",
  }),
  (random) => ({
    "x-api-key": "",
    "Content-Type": "",
    "Content-Length": "",
    Host: "",
    Connection: "Keep-Alive",
    "Accept-Encoding": "gzip",
    "User-Agent": `okhttp/4.${random(9, 12)}.${random(0, 3)}`,
  }),
  (random) => ({
    Accept: "application/json, application/*+json",
    "Content-Type": "",
    "x-api-key": "",
    "User-Agent": `Java/${pick(random, [11, 17, 21])}.0.${random(2, 25)}`,
    Host: "",
    Connection: "keep-alive",
    "Content-Length": "",
  }),
];

/** Returns the headers of a customer's browser that opens a page. */
function browserOf(random: Random): Headers {
  const version = random(118, 142);
  const android = `Linux; Android ${random(10, 15)}; ${pick(random, ["K", "SM-A155F", "TECNO BG6", "Infinix X6525", "itel A665L"])}`;
  return {
    Host: "",
    Connection: "keep-alive",
    "Upgrade-Insecure-Requests": "1",
    "User-Agent": `Mozilla/5.0 (${android}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 Mobile Safari/537.36`,
    Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate, br",
  };
}

/** Puts headers in the order in which a program sends them. A given header replaces the program's header. */
function inOrder(template: Headers, given: Headers): Headers {
  const left = new Map(Object.entries(given).map(([name, value]) => [name.toLowerCase(), [name, value] as const]));
  const ordered: (readonly [string, string | string[]])[] = [];
  for (const [name, usual] of Object.entries(template)) {
    const own = left.get(name.toLowerCase());
    left.delete(name.toLowerCase());
    if (own !== undefined || usual !== "") ordered.push([name, own?.[1] ?? usual]);
  }
  return Object.fromEntries([...ordered, ...left.values()]);
}

export type Merchant = ReturnType<typeof createMerchant>;

export function createMerchant(options: MerchantOptions) {
  const { seed, runId } = options;
  const random = createRandom(seed, "merchant");
  const name = wordOf(random, random(5, 8));
  const folder = pick(random, ["hooks", "webhooks", "callbacks", "payments/hook", "api/notify", `${name}/events`]);
  const order = pick(random, ["order", "o", "id", "basket"]);
  const origin = pick(random, ["from", "shop", "source", "s"]);
  const program = pick(random, programs)(random);
  const customers = createRandom(seed, "customers");
  const issued: string[] = [];
  let mailboxes = 0;
  return {
    name,
    /** A reference that no record has. */
    unknown: `${name}-${derived(`unknown ${runId}`, letters + digits, 10)}`,
    /** Well-formed keys that no merchant has. */
    keys: ["a", "b"].map((which) => derived(`key ${which} ${runId}`, letters + digits, 32)) as [string, string],
    fresh(): string {
      const reference = referenceOf(options, issued.length + 1);
      issued.push(reference);
      return reference;
    },
    /** Returns the reference of this run that a text contains, in any case, and its number; undefined without a reference. */
    referenceIn(text: string): { reference: string; number: number } | undefined {
      if (text === "") return undefined;
      const lower = text.toLowerCase();
      const index = issued.findLastIndex((own) => lower.includes(own));
      return index < 0 ? undefined : { reference: issued[index]!, number: index + 1 };
    },
    /** Returns the path of a new mailbox for webhooks. Its last segment is unique. */
    mailbox: () => `${folder}/${derived(`mailbox ${runId} ${(mailboxes += 1)}`, letters + digits, 12)}`,
    query: `${order}=${random(1000, 99_999)}&${origin}=${name}`,
    /** Returns headers as the merchant's program sends them. */
    headers: (given: Headers): Headers => inOrder(program, given),
    /** Returns headers as the browser of one of the merchant's customers sends them. */
    browserHeaders: (given: Headers): Headers => inOrder(browserOf(customers), given),
    /** Returns the headers without the headers that the merchant's program sends with every request. */
    withoutUsual: (headers: Headers): Headers =>
      Object.fromEntries(Object.entries(headers).filter(([header, value]) => value !== program[header])),
  };
}
