import { expect, test } from "vitest";
import { openingOf } from "./foreign.ts";

const names: Record<string, string[]> = {
  "api.example": ["8.8.8.8"],
  "pay.example": ["1.1.1.1", "2606:4700::1111"],
  "inside.example": ["10.1.2.3"],
  "mixed.example": ["1.1.1.1", "192.168.0.1"],
  "own.internal": ["10.0.0.5"],
  localhost: ["127.0.0.1", "::1"],
};
const lookup = async (name: string) => names[name] ?? Promise.reject(new Error("ENOTFOUND"));
const opening = (link: string, base: string) => openingOf(new URL(link), new URL(base), lookup);

test.each([
  ["http://api.example:9000/page", "https://api.example", {}],
  ["https://pay.example/c/1", "https://api.example", { address: "1.1.1.1" }],
  ["https://1.1.1.1/", "https://api.example", { address: "1.1.1.1" }],
  ["https://[2606:4700::1111]/", "https://api.example", { address: "2606:4700::1111" }],
  ["http://10.0.0.5:8080/", "http://10.0.0.5", {}],
  ["http://own.internal:81/", "http://own.internal", {}],
  ["http://localhost:4000/", "http://127.0.0.1:3000", { address: "127.0.0.1" }],
  ["http://127.0.0.2/", "http://localhost:3000", { address: "127.0.0.2" }],
  ["https://pay.example/", "http://127.0.0.1:3000", { address: "1.1.1.1" }],
])("%s may be opened from %s", async (link, base, expected) => {
  expect(await opening(link, base)).toEqual(expected);
});

test.each([
  ...[
    "127.0.0.1 127.1 2130706433 0x7f000001 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.100.100.200",
    "168.63.129.16 192.0.0.1 198.18.0.1 203.0.113.1 224.0.0.1 255.255.255.255 [::1] [::] [fe80::1] [fd00:ec2::254]",
    "[::ffff:10.0.0.1] [::ffff:127.0.0.1] [64:ff9b::a00:1] [2002:a00:1::] [2001:db8::1] localhost inside.example",
    "mixed.example own.internal nowhere.example",
  ]
    .join(" ")
    .split(" ")
    .map((host) => [`http://${host}/`, "https://api.example"]),
  ["http://inside.example/", "http://127.0.0.1:3000"],
  ["http://10.0.0.6/", "http://10.0.0.5"],
  ["http://127.0.0.1/", "http://10.0.0.5"],
  ["http://127.0.0.1/", "http://own.internal"],
  ["file:///etc/passwd", "https://api.example"],
  ["ftp://pay.example/", "https://api.example"],
])("%s is not opened from %s", async (link = "", base = "") => {
  expect(await opening(link, base)).toEqual({ refusal: expect.stringMatching(/^not opened: /) });
});
