// What the contract's patterns accept. A pattern without the `u` flag matches UTF-16 code units; with it, code points.
import { expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };

const { MerchantReference, WebURL } = document.components.schemas;
const words = (text: string) => text.trim().split(/\s+/);
const hosts = (text: string) => words(text).map((name) => `https://${name}/`);
const emoji = (count: number) => "🧵".repeat(count);

const ACCEPTED_URLS = [
  ...hosts("merchant.example merchant.example. localhost x x1 my_service-1 3f2a9c1b2d4e 12x 00x1 1.example"),
  ...hosts("xn--mrchant-bya.example 127.0.0.1 255.249.199.99 [::] [::1] [2001:db8::1] [2001:DB8:1:2:3:4:5::]"),
  ...hosts("[1:2:3:4:5:6:7:8] [::1]:3000/hook merchant.example:65535 merchant.example:0065/~!$&'()*+,;=:@"),
  ...words(`https://merchant.example HTTPS://Merchant.Example/Hook https://merchant.example?a=b
    https://merchant.example#a http://merchant.example:8080/a;b=c/?d=%C3%A9&e=@/?#f/?`),
];
const REFUSED_URLS = [
  ...hosts("mérchant.example merchant..example .example %6derchant.example merchant.1 127.1 2130706433 0x7f000001"),
  ...hosts("127.0.0.256 127.0.0.01 [1:2:3:4:5:6:7] [1:2:3:4:5:6:7:8:9] [1::2::3] [:::1] [12345::] [::1%25lo]"),
  ...hosts("ada@merchant.example ada:secret@merchant.example @merchant.example merchant.example@evil.example"),
  ...hosts("merchant.example:65536 merchant.example:x merchant.example: merchant.example/é merchant.example/%zz"),
  ...hosts('merchant.example/%4 merchant.example/" merchant.example/a\\b merchant.example/[a] m.example/#a#b'),
  ..."| https://m.example/|https://m.example/ |https://m.example/a b|https://m.example/\n|https://m.example/\0".split(
    "|",
  ),
  ..."https://m.example/\u0085|https://m.example/\ud800|https:///hook|http://[::1".split("|"),
  ...words("merchant.example //m.example/hook ftp://m.example/ javascript:alert(1) https:// http: https://?"),
];
const ACCEPTED_REFERENCES = [
  ..."a| |p{Cc}|Été/№1?#%|e\u0301|\u007e\u00a0|\u200b\u2028\ufeff|\ud7ff\ue000\uffff|\u{10000}\u{10ffff}".split("|"),
  "x".repeat(64),
  emoji(64),
];
const REFUSED_REFERENCES = [
  ..."|\0|a\tb|a\n|\u001f|\u007f|\u0080|\u009f|\ud800|\udfff|a\ud83e|\udc00\ud800|\ud83e\ud83e\uddf5|🧵\uddf5".split(
    "|",
  ),
  "x".repeat(65),
  emoji(65),
];

test.each([
  ["reference", MerchantReference.pattern, ACCEPTED_REFERENCES, REFUSED_REFERENCES],
  ["web address", WebURL.pattern, ACCEPTED_URLS, REFUSED_URLS],
])(
  "the pattern of a %s accepts exactly the valid values, as code units and as code points",
  (_, pattern, ...values) => {
    const [accepted, refused] = values;
    for (const regExp of [new RegExp(pattern), new RegExp(pattern, "u")]) {
      expect(accepted.filter((value) => !regExp.test(value))).toEqual([]);
      expect(refused.filter((value) => regExp.test(value))).toEqual([]);
    }
  },
);
