import { expect, test } from "vitest";
import { check, exchange, requirement, sampleReport } from "../testing/sample-report.ts";
import { raceCommand } from "../target/recorder.ts";
import { repeatCommand, repeatOf } from "./repeat.ts";

test("repeatCommand quotes for a shell", () => {
  const report = sampleReport([], { baseUrl: "http://127.0.0.1:3000/a b'$(x)", seed: -7 });
  expect(repeatCommand(report, ["auth.a", "auth.b"])).toBe(
    `npx --no -- certify --base-url 'http://127.0.0.1:3000/a b'\\''$(x)' --profile core --effects money --only auth.a,auth.b --seed -7`,
  );
});

test.each([
  ["the request that shows the failure", { shownBy: 7 }, "curl -i one"],
  ["the check if several requests show it", {}, "npx --no -- certify "],
  ["the check if one of its requests raced", { shownBy: 9 }, "npx --no -- certify "],
  ["the check if no command can contain the request", { shownBy: 8 }, "npx --no -- certify "],
])("repeats %s", (_, over, start) => {
  const [one, two] = [exchange({ id: 7, curl: "curl -i one" }), exchange({ id: 8, curl: "# too long" })];
  const race = [exchange({ id: 9, curl: "curl -i nine" }), exchange({ id: 10, curl: raceCommand })];
  const exchanges = "shownBy" in over && over.shownBy === 9 ? race : [one, two];
  const report = sampleReport([requirement("a", "fail")], { repeatFlags: ["--timeout", "50"] });
  const command = repeatOf(report, { id: "a" }, check({ exchanges, ...over }));
  expect(command.startsWith(start)).toBe(true);
  if (start === "npx --no -- certify ") expect(command).toContain("--only a --seed 42 --timeout 50");
});
