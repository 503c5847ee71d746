import { join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../../server/testing/resources.ts";
import { writeKeyPair } from "../certificate/keys.ts";
import { triesAll } from "../broken/self-test.ts";
import { verify as verifyFile } from "../cli/verify.ts";
import { reservePort } from "../target/reserve-port.ts";
import { reportIn, startCertify } from "../testing/command-line.ts";
import { examples, isMissing, withCommand } from "./examples.ts";

/** The webhook secrets of the examples. They protect nothing. */
const secrets = {
  WEBHOOK_SECRET: "whsec_ZXhhbXBsZS1yZWNlaXZlci1zZWNyZXQtMDAwMDAwMDE=",
  WEBHOOK_SECRET_OLD: "whsec_ZXhhbXBsZS1yZWNlaXZlci1zZWNyZXQtMDAwMDAwMDI=",
};

/** Scenarios that need a real process or database. `npm run certify:examples` runs all. */
const scenarios = {
  clients: "sent-twice,exists,crossed-1",
  receivers: "valid-checkout-completed,at-once,outage,restarted,other-methods",
};
/** The requirement that each faulty program must fail in these scenarios. */
const shown: Readonly<Record<string, string>> = {
  "clients/naive.mjs": "client.pays-once",
  "clients/ordinary.py": "client.refused-is-true",
  "receivers/naive.mjs": "receiver.remembers-after-restart",
};

// The first trial of a language may compile the program, and a naive client waits for its time limit in many scenarios.
const timeout = triesAll ? 3_600_000 : 300_000;
test.each(examples)("$file fails what examples.ts says", { timeout }, async (example) => {
  if (isMissing(example)) return console.warn(`not tried without ${example.toolchain.name}`);
  const folder = testFolder();
  const env = { ...secrets, HOME: folder, BOOKINGS: join(folder, "bookings") };
  const kind = example.file.startsWith("clients/") ? "clients" : "receivers";
  const origin = `http://127.0.0.1:${await reservePort()}`;
  const outage = `${process.execPath} ${join(import.meta.dirname, "receivers/outage.mjs")}`;
  const urls = ["--url", `${origin}/webhooks`, "--effects-url", `${origin}/effects`];
  const report = await withCommand(example, async (command) => {
    const side = kind === "clients" ? ["client"] : ["receiver", ...urls, "--outage-command", outage];
    const chosen = triesAll ? [] : ["--scenario", scenarios[kind]];
    const args = [...side, "--command", command, "--seed", "1", "--report", folder, ...chosen];
    const { output } = await startCertify(args, { env }).ended;
    return (await reportIn(folder)) ?? expect.fail(output);
  });
  const failed = report.requirements.flatMap(({ id, verdict }) => (verdict === "fail" || verdict === "warn" ? id : []));
  expect(report.errors).toEqual([]);
  expect(report.requirements.filter(({ verdict }) => verdict === "pass").length).toBeGreaterThan(2);
  expect(failed.filter((id) => !example.fails.includes(id))).toEqual([]);
  expect(failed).toEqual(expect.arrayContaining(triesAll ? [...example.fails] : [shown[example.file] ?? []].flat()));
  return undefined;
});

test("a program that passes gets a certificate, which is valid for its profile and its command alone", async () => {
  const folder = testFolder();
  writeKeyPair(join(folder, "key"));
  await withCommand(
    examples.find(({ file }) => file === "clients/our-client.ts")!,
    async (command) => {
      const args = ["client", "--command", command, "--jobs", "6", "--sign", join(folder, "key"), "--report", folder];
      const { code, output } = await startCertify(args, { env: { HOME: folder } }).ended;
      expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/certificate\.jws\n$/) });
      const verify = (profile: string, target: string) =>
        verifyFile(
          [join(folder, "certificate.jws"), "--key", join(folder, "key.pub"), "--profile", profile, "--target", target],
          new Date(),
        );
      expect(await verify("client", command)).toMatchObject({ exitCode: 0 });
      expect(await verify("receiver", command)).toMatchObject({ exitCode: 1 });
      expect(await verify("client", "another")).toMatchObject({ exitCode: 1 });
    },
  );
});
