// Makes up what ordinary merchants send to a sandbox on their own machine, for the test that tries to distinguish the
// suite from merchants. It shares no code with generate/merchant.ts, which invents the merchant that the suite plays.
import { seededRandom } from "../../server/testing/random.ts";
import type { Sent } from "./recognise.ts";

function toolsFrom(seed: number) {
  const { next } = seededRandom(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  const one = <T>(values: readonly T[]): T => values[below(values.length)]!;
  const text = (characters: string, length: number) =>
    Array.from({ length }, () => characters[below(characters.length)]).join("");
  return { next, below, one, text, digits: (length: number) => text("0123456789", length) };
}
type Tools = ReturnType<typeof toolsFrom>;

const small = "abcdefghijklmnopqrstuvwxyz";
const hexadecimal = "0123456789abcdef";

/** Returns a function that returns a merchant's next reference. */
function referencesOf({ below, one, text, digits }: Tools): () => string {
  const prefix = one([
    "order",
    "pay",
    "inv",
    "TX",
    "ref",
    "po",
    text(small, 2 + below(4)),
    text(small, 3).toUpperCase(),
    "",
  ]);
  const separator = prefix === "" ? "" : one(["", "", "-", "-", "_", "/"]);
  const length = 8 + below(18);
  const alphabet = one([
    hexadecimal,
    hexadecimal,
    small + "0123456789",
    small + "0123456789",
    "23456789bcdfghjkmnpqrstvwxyz",
  ]);
  let count = 1000 + below(900_000);
  return one([
    () => `${prefix}${separator}${text(alphabet, length)}`,
    () => `${prefix}${separator}${text(alphabet, length)}`,
    () => `${prefix}${separator}${digits(length)}`,
    () => `${prefix}${separator}${(count += 1 + below(3))}`,
    () => [8, 4, 4, 4, 12].map((part) => text(hexadecimal, part)).join("-"),
    () => `20261${below(2)}${digits(8)}${separator}${digits(4)}`,
  ]);
}

type Headers = [name: string, value: string][];
type Given = { key?: string | undefined; body: string; host: string };

/** Returns the headers that a merchant's program typically sends. */
function programOf({ one, below, digits }: Tools): (given: Given) => Headers {
  const [minor, patch] = [below(14), below(10)];
  const charsets = ["application/json; charset=utf-8", "application/json;charset=UTF-8"];
  const type = one(["application/json", "application/json", ...charsets]);
  const java = one(["11.0.22", "17.0.9", "17.0.13", "21.0.4", "17.0.10", "21.0.2"]);
  const version = `${minor}.${patch}`;
  const template: Headers = one<Headers>([
    [["Accept", "application/json, text/plain, */*"], ["Content-Type", ""], ["x-api-key", ""], ["User-Agent", `axios/1.${version}`], ["Content-Length", ""], ["Accept-Encoding", "gzip, compress, deflate, br"], ["Host", ""], ["Connection", "keep-alive"]],
    [["user-agent", "got (https://github.com/sindresorhus/got)"], ["x-api-key", ""], ["accept", "application/json"], ["content-type", ""], ["content-length", ""], ["accept-encoding", "gzip, deflate, br"], ["Host", ""], ["Connection", "keep-alive"]],
    [["x-api-key", ""], ["Content-Type", ""], ["Content-Length", ""], ["Accept", "*/*"], ["User-Agent", "node-fetch"], ["Accept-Encoding", "gzip,deflate"], ["Host", ""], ["Connection", "keep-alive"]],
    [["Host", ""], ["connection", "keep-alive"], ["content-type", ""], ["x-api-key", ""], ["accept", "*/*"], ["accept-language", "*"], ["sec-fetch-mode", "cors"], ["user-agent", "node"], ["accept-encoding", "gzip, deflate"], ["content-length", ""]],
    [["x-api-key", ""], ["Content-Type", ""], ["Content-Length", ""], ["Host", ""], ["Connection", "Keep-Alive"], ["Accept-Encoding", "gzip"], ["User-Agent", `okhttp/4.${version}`]],
    [["Accept", "application/json"], ["X-Api-Key", ""], ["Content-Type", ""], ["Content-Length", ""], ["Host", ""], ["Connection", "Keep-Alive"], ["User-Agent", `Apache-HttpClient/4.5.${minor} (Java/${java})`], ["Accept-Encoding", "gzip,deflate"]],
    [["Accept", "application/json, application/*+json"], ["Content-Type", ""], ["x-api-key", ""], ["User-Agent", `Java/${java}`], ["Host", ""], ["Connection", "keep-alive"], ["Content-Length", ""]],
    [["Host", ""], ["x-api-key", ""], ["Content-Type", ""], ["Transfer-Encoding", "chunked"]],
    [["Accept", "application/json"], ["x-api-key", ""], ["Content-Type", ""], ["Host", ""], ["Content-Length", ""], ["Expect", "100-continue"]],
    [["Host", ""], ["User-Agent", "curl/8.5.0"], ["Accept", "*/*"], ["x-api-key", ""], ["Content-Type", ""], ["Content-Length", ""]],
    [["Host", ""], ["User-Agent", `python-requests/2.${digits(2)}.0`], ["Accept-Encoding", "gzip, deflate"], ["Accept", "*/*"], ["Connection", "keep-alive"], ["x-api-key", ""], ["Content-Length", ""], ["Content-Type", ""]],
  ]); // prettier-ignore
  return ({ key, body, host }) => {
    const given: Record<string, string | undefined> = {
      "x-api-key": key,
      host,
      "content-type": body === "" ? undefined : type,
      "content-length": body === "" ? undefined : String(body.length),
    };
    return template.flatMap(([name, value]): Headers => {
      const own = value === "" ? given[name.toLowerCase()] : value;
      return own === undefined ? [] : [[name, own]];
    });
  };
}

const countries = [
  ["CI", "XOF", "22507", 8],
  ["CI", "XOF", "22505", 8],
  ["CI", "XOF", "22501", 8],
  ["NG", "NGN", "2348", 9],
  ["NG", "NGN", "2347", 9],
  ["NG", "NGN", "2349", 9],
  ["GH", "GHS", "2332", 8],
  ["GH", "GHS", "2335", 8],
  ["KE", "KES", "2547", 8],
  ["US", "USD", "1202555", 4],
  ["US", "USD", "1212555", 4],
  ["US", "USD", "1312555", 4],
] as const;

/** Returns what an ordinary merchant sends: payouts, look-ups, checkouts, and now and then a mistake. */
export function merchantsTraffic(seed: number): Sent[] {
  const tools = toolsFrom(seed);
  const { next, below, one, text, digits } = tools;
  const [newReference, headers] = [referencesOf(tools), programOf(tools)];
  const host = one(["127.0.0.1:3000", "localhost:3000", `127.0.0.1:${1024 + below(60_000)}`]);
  const site = `${one(["http", "http", "https"])}://${one(["127.0.0.1", "127.0.0.1", "localhost"])}:${1024 + below(60_000)}`;
  const folder = one([
    "hooks",
    "webhooks",
    "callbacks",
    "payments/hook",
    "api/notify",
    "ipn",
    "api/v2/webhook",
    "events",
  ]);
  const query = one(["order", "o", "id", "basket", "ref", "n"]);
  const source =
    one(["&from=", "&shop=", "&source=", "&s=", "&back=https%3A%2F%2Fwww.example%2F%3Fa%3D"]) +
    text(small, 4 + below(6));
  const notifies = next();
  const payees = Array.from({ length: 1 + below(300) }, () => {
    const [country, currency, start, free] = one(countries);
    const fails = next() < 0.2;
    return { phoneNumber: start + (fails ? `${digits(free - 3)}089` : digits(free)), country, currency };
  });
  const prices = Array.from({ length: 3 + below(40) }, () => 1 + below(5000));
  const price = 5 * (1 + below(400));
  const amountOf = one([
    () => price,
    () => one(prices),
    () => one(prices),
    () => 1 + below(1500),
    () => 50 + below(900),
    () => 100 * (1 + below(500)),
    () => below(5_000_000),
  ]);
  const key = text(small + "0123456789", 16 + below(24));
  const sent: Sent[] = [];
  const send = (method: string, path: string, fields?: Record<string, unknown>, given: string | undefined = key) => {
    const body = fields ? JSON.stringify(fields) : "";
    sent.push({ method, path, headers: headers({ key: given, body, host }), body });
  };
  /** A customer opens the payment page. */
  const opened = () => {
    const browser: Headers = [
      ["Host", host],
      ["Connection", "keep-alive"],
      ["Upgrade-Insecure-Requests", "1"],
      [
        "User-Agent",
        `Mozilla/5.0 (Linux; Android ${10 + below(6)}; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${110 + below(40)}.0.0.0 Mobile Safari/537.36`,
      ],
      ["Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"],
      ["Accept-Encoding", "gzip, deflate, br"],
    ];
    sent.push({
      method: "GET",
      path: `/checkouts/CHK${text(hexadecimal, 20).toUpperCase()}`,
      headers: browser,
      body: "",
    });
  };
  const addressed = () =>
    next() < notifies
      ? { webhookURL: `${site}/${folder}/${text(small + "0123456789", 12)}?${query}=${digits(4)}${source}` }
      : {};
  const steps = [
    () =>
      send("POST", "/v1/disbursements", {
        reference: newReference(),
        amount: amountOf(),
        ...one(payees),
        ...addressed(),
      }),
    () => send("GET", `/v1/disbursements/DSB${text(hexadecimal, 20).toUpperCase()}`),
    () => {
      const { country, currency } = one(payees);
      const redirectURL = `${site}/orders/${newReference()}?step=done`;
      send("POST", "/v1/checkouts", { amount: 10 * amountOf(), currency, country, ...addressed(), redirectURL });
    },
    () =>
      send(
        "GET",
        one([
          "/healthz",
          "/v1/disbursements?limit=20",
          "/v1/checkouts?status=pending",
          "/v1/disbursements?createdAfter=2026-11-01T00:00:00.000Z",
          "/sandbox/clock",
          "/sandbox/events?limit=1",
          "/sandbox/deliveries?limit=1",
          "/sandbox/webhook-secret",
          "/sandbox/chaos",
          "/sandbox/reset",
          "/sandbox/webhook-secret/rotate",
        ]),
      ),
    () => send("POST", `/sandbox/checkouts/CHK${text(hexadecimal, 20).toUpperCase()}/finish`, { outcome: "success" }),
    () => send("GET", `/v1/checkouts/CHK${text(hexadecimal, 20).toUpperCase()}`),
    () => opened(),
    () => send("POST", "/sandbox/clock/advance", { seconds: 60 }),
    () => send("GET", `/v1/disbursements/${newReference()}`, undefined, one([key, undefined, text(small, 32)])),
  ];
  for (let count = 40 + below(100); count > 0; count -= 1) (next() < 0.6 ? steps[0]! : one(steps))();
  return sent;
}
