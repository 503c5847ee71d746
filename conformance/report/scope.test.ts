import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { NotCertified, signCertificate } from "../certificate/sign.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { completingCommand, followedFor, scopeLine } from "./scope.ts";

const apart = (id: string) => requirement(id, "not-applicable");
const left = (id: string, code: "caller" | "effects" | "only") =>
  requirement(id, "not-applicable", { reason: { code, text: "left out" } });

test("names what is not applicable, and keeps it in the total", () => {
  const report = sampleReport([requirement("a.b", "pass"), ...["c.d", "e.f", "g.h", "i.j"].map(apart)]);
  expect(scopeLine(report)).toBe("core · effects money · 1 of 5 musts · 4 not applicable: c.d, e.f, g.h and 1 more");
  expect(scopeLine(report, 9)).toContain("4 not applicable: c.d, e.f, g.h, i.j");
});

test("names what the caller did not provide, and the command that adds it, without keys", () => {
  const notProvided = [
    { what: "a second merchant's key (API_KEY_2)", provide: "API_KEY_2=KEY", requirements: ["c.d"] },
    { what: "a recipient", provide: "--failing-recipient PHONE", requirements: ["e.f"] },
  ];
  const requirements = [requirement("a.b", "pass"), left("c.d", "caller"), left("e.f", "caller")];
  const report = sampleReport(requirements, { verdict: "passed-partially", notProvided });
  expect(scopeLine(report)).toContain("not provided: a second merchant's key (API_KEY_2); a recipient");
  expect(completingCommand(report)).toBe(
    "API_KEY_2=KEY npx --no -- certify --base-url https://sandbox.example --profile core --effects money --seed 42 --failing-recipient PHONE",
  );
});

test("suggests the effects that a partial run needs, without --only", () => {
  const over = { verdict: "passed-partially", effects: "none", only: ["a.b"] } as const;
  const report = sampleReport([requirement("a.b", "pass"), left("c.d", "effects")], { ...over, only: ["a.b"] });
  expect(completingCommand(report)).toMatch(/--effects money --seed 42$/);
  expect(scopeLine(report)).toBe("core · effects none · --only · 1 of 2 musts");
});

test("suggests nothing to a certified run", () => {
  expect(completingCommand(sampleReport([requirement("a.b", "pass")]))).toBeUndefined();
});

test.each(["passed-partially", "failed", "error"] as const)("nothing is signed for the verdict %s", async (verdict) => {
  const { privateKey: key } = generateKeyPairSync("ed25519");
  const report = sampleReport([requirement("a.b", "pass")], { verdict });
  const signed = signCertificate(report, JSON.stringify(report), { key, now: new Date(0), validDays: 1 });
  await expect(signed).rejects.toThrow(NotCertified);
});

test("says for how long the records were followed", () => {
  const created = [{ kind: "disbursement" as const, at: "2026-11-20T09:30:00.000Z" }];
  const report = sampleReport([], { created, finishedAt: "2026-11-20T09:30:12.400Z" });
  expect(followedFor(report)).toBe("Followed the records for 12 s; to see what changes later, add --linger SECONDS");
  expect(followedFor(sampleReport([], { created: [] }))).toBeUndefined();
});
