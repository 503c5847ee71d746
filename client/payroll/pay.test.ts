// The command `disbursement-pay` within this process, with a service in memory. package.full.test.ts runs the packed command.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { countingService, losses, nothing, whole } from "../testing/counting-service.ts";
import { refusal, respond } from "../testing/fakes.ts";
import { run } from "./pay.ts";
import { readPayroll, summarise, textOf } from "./payroll-file.ts";
import { inWords } from "../words.ts";

const header = "reference,amount,phoneNumber,country,currency";
const row = (n: number, amount = 1500000) => `salary-${n},${amount},225701020300${n},CI,XOF`;
const env = { BASE_URL: "https://fake.example", API_KEY: "key-of-the-merchant" };

let folder: string;
let service: ReturnType<typeof countingService>["state"];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "client-pay-"));
  const { state, fetch } = countingService();
  service = state;
  vi.stubGlobal("fetch", fetch);
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true });
});

const at = (name: string) => join(folder, name);

interface Conditions {
  environment?: Partial<typeof env>;
  /** The command is stopped, as by a signal, after it has sent this number of payments. */
  stopAfter?: number;
}

/** Runs the command on a file with these lines. */
async function pay(lines: string[], args: string[] = [], { environment = env, stopAfter = Infinity }: Conditions = {}) {
  writeFileSync(at("payroll.csv"), lines.join("\n"));
  const printed: string[] = [];
  const errors: string[] = [];
  const terminal = {
    out: (line: string) => void printed.push(line),
    error: (line: string) => void errors.push(line),
    onStop(stop: () => void) {
      if (stopAfter === Infinity) return;
      service.fault = (process) => {
        if (service.payouts.length >= stopAfter - 1) stop();
        return process();
      };
    },
  };
  const all = [at("payroll.csv"), "--journal", at("payroll.journal"), ...args];
  const code = await run(all, environment, terminal);
  return { code, printed: printed.join("\n"), errors: errors.join("\n") };
}

/** A gateway responds with pages instead of the service, which has processed the requests. */
const useGateway = () => {
  const page = () => respond(200, "<html>");
  service.fault = losses["a page after recording"];
  service.view = { ...whole, read: page, list: page };
};
const useService = () => Object.assign(service, { fault: nothing, view: whole });
const refuse = (refused: string, status: number) => {
  service.fault = (process, _, reference) => (reference === refused ? refusal(status) : process());
};

const references = () => service.payouts.map(({ merchantsReference }) => merchantsReference).toSorted();

test.each([
  [1, "zero and 01/100"],
  [4_521_150, "forty-five thousand two hundred eleven and 50/100"],
  [2_000_000_00, "two million"],
  [101_020_30, "one hundred one thousand twenty and 30/100"],
  [100_000_019_99, "one hundred million nineteen and 99/100"],
  [90_000_000_000_000_00, "ninety trillion"],
])("the amount %i in words", (amount, words) => {
  expect(inWords(amount)).toBe(words);
});

describe("the file", () => {
  test("may have quotes, other columns, another order, empty lines and the separators of spreadsheets", () => {
    const wallet = { phoneNumber: "2348031234567", country: "NG", currency: "NGN" };
    const request = { reference: 'a "b", c', amount: 4500, ...wallet };
    const texts = [
      `name,currency,country,phoneNumber,amount,reference\r\nAda,NGN,NG,2348031234567,4500,"a ""b"", c"\r\n \r\n`,
      `"name, or names";reference;amount;phoneNumber;country;currency\n"Ada; Obi";"a ""b"", c";4500;2348031234567;NG;NGN`,
      `\uFEFFreference\tamount\tphoneNumber\tcountry\tcurrency\n"a ""b"", c"\t4500\t2348031234567\tNG\tNGN`,
    ];
    for (const text of texts) expect(readPayroll(text)).toEqual({ rows: [{ line: 2, request }], problems: [] });
  });

  test("with space around a cell, quoted or not, names the cell", () => {
    const cells = ["sal-77", "1500000", "2257038102473", "CI", "XOF", "https://merchant.example/w"];
    for (const index of cells.keys()) {
      for (const quote of ["", '"']) {
        const spaced = cells.map((cell, i) => quote + (i === index ? ` ${cell}` : cell) + quote);
        const { problems } = readPayroll(`${header},webhookURL\n${spaced.join(",")}`);
        const column = [...header.split(","), "webhookURL"][index];
        expect(problems).toEqual([{ line: 2, text: `${column} begins or ends with a space: remove the space` }]);
      }
    }
  });

  test("may have an address for webhooks, and with one that the contract refuses pays nobody", async () => {
    const { rows } = readPayroll(`${header},webhookURL\n${row(1)},https://merchant.example/w\n${row(2)},`);
    expect(rows.map(({ request }) => request.webhookURL)).toEqual(["https://merchant.example/w", undefined]);
    const lines = [`${header},webhookURL`, `${row(1)},https://merchant.example/w`, `${row(2)},merchant.example`];
    const { code, errors } = await pay(lines, ["--yes"]);
    expect([code, service.payouts.length]).toEqual([2, 0]);
    expect(errors).toMatch(/line 3: webhookURL is not valid: write an http or https URL.*\nNothing was paid\.$/);
  });

  test.each(["2250701020304", "+225 07 01 02 03 04", "002250701020304", "07-01-02-03-04"])(
    "may have the phone number %s",
    (text) => {
      const { rows, problems } = readPayroll(`${header}\na,1,${text},CI,XOF`);
      expect([rows[0]?.request.phoneNumber, problems]).toEqual(["2250701020304", []]);
    },
  );

  test("may have a line break in a quoted cell, rows of separators, and columns in any case", () => {
    const text = `Reference,AMOUNT,phonenumber,Country,currency,Address\r\n,,,,,\r\na,1,2348031234567,NG,NGN,"1 Road\r\nLagos"\r\n,,\r\nb,x,2348031234567,NG,NGN,`;
    const { rows, problems } = readPayroll(text);
    expect(rows.map(({ line, request }) => [line, request.reference])).toEqual([
      [3, "a"],
      [6, "b"],
    ]);
    expect(problems).toEqual([{ line: 6, text: expect.stringMatching(/^amount is not valid/) }]);
  });

  test("may be in UTF-8 or UTF-16, with a byte order mark or without", () => {
    const text = `${header}\nsalaire-é,1,2348031234567,NG,NGN`;
    const files = [text, `\uFEFF${text}`].flatMap((content) => [
      Buffer.from(content),
      Buffer.from(content, "utf16le"),
      Buffer.from(content, "utf16le").swap16(),
    ]);
    for (const file of files) {
      const { rows, problems } = readPayroll(textOf(file));
      expect([rows[0]?.request.reference, problems]).toEqual(["salaire-é", []]);
    }
  });

  test("with the same fault on many lines names it once, with the lines and their number", () => {
    const wrong = Array.from({ length: 709 }, (_, n) => `a-${n},1,2348031234567,NG,ngn`);
    const { problems } = readPayroll([header, row(1), ...wrong, row(2), "b,1,2348031234567,NG,ngn"].join("\n"));
    expect(summarise(problems)).toEqual([
      "lines 3-711, 713 (710 lines): currency is not valid: write three capital letters, such as XOF",
    ]);
  });

  const columns = "name these columns, once each:";
  const files: [string, string[], RegExp][] = [
    ["no header", [row(1)], new RegExp(`^line 1: ${columns} reference, amount, phoneNumber, country, currency$`)],
    ["a column twice", [`${header},amount`], new RegExp(`^line 1: ${columns} amount$`)],
    ["no payments", [header, ""], /^line 1: the file has no payments$/],
    ["a missing field", [header, row(1), "a,1"], /^line 3: 2 fields instead of 5\. Put a field .* into quotes$/],
    ["a repeated reference", [header, row(1), row(2), row(1)], /^line 4: the reference is also on line 2: give each/],
    [
      "references that only look the same",
      [header, "salari\u00E9,1,2348031234567,NG,NGN", "salarie\u0301,1,2348031234567,NG,NGN"],
      /^line 3: the reference is also on line 2/,
    ],
  ];
  /** A line after the header. `#` stands for a phone number, a country and a currency. */
  const lines: [string, RegExp][] = [
    ['"a,1,#', /^line 2: a quote is not closed/],
    ['"a"b,1,#', /^line 2: a quote is not closed, or stands within a field/],
    [",1,#", /^line 2: reference is empty: write a reference of your own/],
    ["salari\uFFFD-1,1,#", /^line 2: reference has a character that is not UTF-8: .*in UTF-8$/],
    ["a\uFEFFb,1,#", /^line 2: reference has a line break or an invisible character \(U\+FEFF\)/],
    ['"a\nb",1,#', /^line 2: reference has a line break or an invisible character \(U\+000A\)/],
    [`${"x".repeat(65)},1,#`, /^line 2: reference is not valid/],
    [
      "a,15000.50,#",
      /^line 2: amount is not valid: write a whole number .*1500000 for 15 000 FCFA, or use --amounts units$/,
    ],
    ["a,1e3,#", /^line 2: amount is not valid/],
    ["a,9007199254740992,#", /^line 2: amount is not valid/],
    ["a,1.5E+06,#", /^line 2: amount was shortened/],
    ["a,1,2348031234567890,NG,NGN", /^line 2: phoneNumber is not valid/],
    ["a,1,2348031234567,CI,XOF", /^line 2: phoneNumber is not valid: A mobile number of CI has \+225 and 10 digits$/],
    ["a,1,\u202A2348031234567\u202C,NG,NGN", /^line 2: phoneNumber has .* \(U\+202A\): write the cell anew$/],
    ["a,1,2.34803E+12,NG,NGN", /^line 2: phoneNumber was shortened by a spreadsheet, .*format the column as text/],
    ["a,1,2348031234567,Nigeria,NGN", /^line 2: country is not valid: write two capital letters, such as CI$/],
    ["a,1,2348031234567,NG,ngn", /^line 2: currency is not valid: write three capital letters/],
  ];
  const all = [
    ...files,
    ...lines.map(([line, problem]): [string, string[], RegExp] => [
      `the line ${line}`,
      [header, line.replace("#", "2348031234567,NG,NGN")],
      problem,
    ]),
  ];
  test.each(all)("with %s", (_, content, problem) => {
    const { rows, problems } = readPayroll(content.join("\n"));
    expect(summarise(problems)).toEqual([expect.stringMatching(problem)]);
    expect(rows.every(({ line }) => line > 1)).toBe(true);
    expect(summarise(problems).join()).not.toContain("803");
  });

  test("with several faults names each, and pays nobody", async () => {
    const { code, errors, printed } = await pay([header, row(1), "x,,12,CI,XOF", row(2, -5)], ["--yes"]);
    expect(code).toBe(2);
    expect(errors.split("\n").map((line) => /line \d: \w+|Nothing.*/.exec(line)?.[0])).toEqual([
      "line 3: amount",
      "line 3: phoneNumber",
      "line 4: amount",
      "Nothing was paid.",
    ]);
    expect([printed, service.payouts.length]).toEqual(["", 0]);
  });
});

describe("the preview", () => {
  test("shows the sums in digits and in words, by currency, and pays nobody", async () => {
    const other = "fee-1,450050,2348031234567,NG,NGN";
    const { code, printed } = await pay([header, row(1), other, row(2, 1200000)]);
    expect(code).toBe(0);
    expect(printed.split("\n").slice(0, 4)).toEqual([
      `${at("payroll.csv")}: 3 payments, amounts in the lowest denomination, to be sent to https://fake.example`,
      "  2 × XOF: 27 000 FCFA (twenty-seven thousand)",
      "  1 × NGN: NGN 4,500.50 (four thousand five hundred and 50/100)",
      `The journal ${at("payroll.journal")} is new.`,
    ]);
    expect(printed).toContain("Nothing was paid. To pay, run the same command with --yes.");
    expect(service.payouts).toEqual([]);
    writeFileSync(at("payroll.journal"), "");
    expect((await pay([header, row(1)])).printed).toContain("exists: what it has is not sent again");
  });

  test("with --amounts units takes amounts as people write them", async () => {
    const ofOthers = ["fee-1,4500.50,2348031234567,NG,NGN", '"fee-2","4500,5",2348031234567,NG,NGN'];
    const lines = [header, "a,15000,2257010203040,CI,XOF", "b,12\u202f000,2257010203041,CI,XOF", ...ofOthers];
    const { code, printed } = await pay(lines, ["--amounts", "units", "--yes"]);
    expect(code).toBe(0);
    expect(printed.split("\n").slice(0, 3)).toEqual([
      `${at("payroll.csv")}: 4 payments, amounts in units of the currency, to be sent to https://fake.example`,
      "  2 × XOF: 27 000 FCFA (twenty-seven thousand)",
      "  2 × NGN: NGN 9,001.00 (nine thousand one)",
    ]);
    expect(service.payouts.map(({ amount }) => amount)).toEqual([1500000, 1200000, 450050, 450050]);
    // The same file without the option has other amounts: the journal refuses them.
    const changed = await pay(lines.slice(0, 2), ["--yes"]);
    expect(changed).toMatchObject({
      code: 2,
      errors: expect.stringContaining('the reference "a" with another amount'),
    });
    expect(service.payouts).toHaveLength(4);
  });

  test.each([
    ["15000.50", "XOF", "amount is not valid: it has decimals, but XOF has none"],
    ["15.000", "XOF", "amount is not valid: it is no amount, or ambiguous. Write 15000, 15 000 or 15000.50"],
    ["1.5E+4", "XOF", expect.stringMatching(/^amount was shortened by a spreadsheet/)],
    ["4500.50", "ngn", expect.stringMatching(/^currency is not valid/)],
  ])("with --amounts units refuses %j %s", (amount, currency, text) => {
    const lines = [header, `a,${amount},2348031234567,NG,${currency}`, `b,${amount},2348031234567,NG,${currency}`];
    const { problems } = readPayroll(lines.join("\n"), "units");
    expect(problems).toEqual([2, 3].map((line) => ({ line, text })));
  });

  test("refuses a sum that no number holds", async () => {
    const { code } = await pay([header, row(1, Number.MAX_SAFE_INTEGER), row(2, Number.MAX_SAFE_INTEGER)], ["--yes"]);
    expect([code, service.payouts.length]).toEqual([2, 0]);
  });
});

const bonuses = (count: number) => Array.from({ length: count }, (_, n) => `bonus-${n},100,2257010203040,CI,XOF`);

describe("with --yes", () => {
  test("pays and reports", async () => {
    const { code, printed, errors } = await pay([header, row(1), row(2, 1200000)], ["--yes"]);
    expect([code, errors]).toEqual([0, ""]);
    expect(printed).toMatch(/\n2 created, 0 paid before, 0 failed, 0 refused, 0 unknown, 0 not tried\n/);
    expect(printed).toContain("created: 2 × XOF: 27 000 FCFA (twenty-seven thousand)");
    expect(printed).toContain("fees: 2 × XOF: 300 FCFA (three hundred)");
    expect(printed).not.toMatch(/paid before:|failed:|No payout is new/);
    expect(references()).toEqual(["salary-1", "salary-2"]);
    expect(printed + readFileSync(at("payroll.journal"), "utf8")).not.toMatch(/22570102030|key-of-the-merchant/);
  });

  test("names refused and failed payments by their lines, and exits with 1", async () => {
    refuse("salary-2", 422);
    const lines = [header, row(1), row(2), row(3)];
    const { code, errors, printed } = await pay(lines, ["--yes"]);
    expect(code).toBe(1);
    expect(errors).toMatch(/^line 3, salary-2: not paid: .*For a reason\./);
    expect(printed).toContain("2 created, 0 paid before, 0 failed, 1 refused");
    // Corrected, and run again without the journal: the service has two payouts, which have failed.
    useService();
    const [first, third] = service.payouts;
    first!.status = "failed";
    Object.assign(third!, { status: "failed", failure: { code: "other", message: "The wallet is closed." } });
    rmSync(at("payroll.journal"));
    const again = await pay(lines, ["--yes"]);
    expect(again).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /^line 2, salary-1: the payout DSB\w+ failed\nline 4, salary-3: the payout DSB\w+ failed: The wallet is closed\.$/,
      ),
    });
    expect(again.printed).not.toContain("No payout is new");
    expect(again.printed).toContain("1 created, 0 paid before, 2 failed");
    expect(again.printed).toContain("failed: 2 × XOF: 30 000 FCFA (thirty thousand)");
    expect(again.printed).toContain("Some payouts failed. To pay them again, give them new references.");
    expect(references()).toEqual(["salary-1", "salary-2", "salary-3"]);
  });

  test("exits with 3 while an outcome is unknown, and finds it out when run again", async () => {
    const lines = [header, row(1), row(2)];
    useGateway();
    const { code, errors, printed } = await pay(lines, ["--yes"]);
    expect(code).toBe(3);
    expect(errors).toMatch(/^lines 2-3 \(2 lines\): perhaps paid: /);
    expect(printed).toContain("0 created, 0 paid before, 0 failed, 0 refused, 2 unknown");
    expect(printed).not.toContain("No payout is new");
    expect(printed).toContain("Run the same command again, with the same file and journal. Nothing is paid twice.");
    useService();
    const again = await pay(lines, ["--yes"]);
    expect(again).toMatchObject({ code: 0, printed: expect.stringContaining("0 created, 2 paid before") });
    expect(references()).toEqual(["salary-1", "salary-2"]);
  });

  test("stops if 20 payments in a row get no usable response", async () => {
    useGateway();
    const { code, errors, printed } = await pay([header, ...bonuses(60)], ["--yes"]);
    expect(code).toBe(3);
    expect(errors.split("\n")).toEqual([
      "Stopped: 20 payments in a row got no usable response. The payments in progress are finished first.",
      expect.stringMatching(/^lines 2-\d+ \(\d+ lines\): perhaps paid: Received 200 without/),
    ]);
    expect(printed).toMatch(/[1-9]\d* not tried/);
  });

  test("stops between payments, and continues", async () => {
    const more = [header, ...Array.from({ length: 9 }, (_, n) => row(n)), ...bonuses(101)];
    const stopped = await pay(more, ["--yes"], { stopAfter: 5 });
    expect(stopped.code).toBe(3);
    expect(stopped.errors).toBe("Stopped: a signal was received. The payments in progress are finished first.");
    const paid = service.payouts.length;
    expect(paid).toBeLessThan(50);
    expect(stopped.printed).toContain(
      `${paid} created, 0 paid before, 0 failed, 0 refused, 0 unknown, ${110 - paid} not tried`,
    );
    useService();
    const again = await pay(more, ["--yes"]);
    expect(again).toMatchObject({
      code: 0,
      printed: expect.stringContaining(`${110 - paid} created, ${paid} paid before`),
    });
    expect(again.printed).toContain(`paid before: ${paid} × XOF`);
    expect(again.printed).not.toContain("No payout is new");
    expect(again.printed.match(/\d+ of 110 done/g)).toEqual(["100 of 110 done"]);
    expect(new Set(references()).size).toBe(110);
    expect(service.payouts).toHaveLength(110);
  });

  test("stops at the first payment if the key is refused", async () => {
    refuse("salary-1", 401);
    const { code, errors } = await pay([header, row(1), ...bonuses(90)], ["--yes"]);
    expect(code).toBe(3);
    expect(errors).toContain("Stopped: the API key is refused.");
    expect(service.payouts.length).toBeLessThan(60);
  });

  test("warns if every payout existed, as in a month with the references of the last", async () => {
    const lines = [header, row(1), row(2)];
    await pay(lines, ["--yes"]);
    rmSync(at("payroll.journal"));
    const { code, printed } = await pay(lines, ["--yes"]);
    expect([code, printed]).toEqual([0, expect.stringContaining("nobody was paid this month.")]);
  });
});

describe("the arguments", () => {
  const lines = [header, row(1)];
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ["an unknown flag", ["--api-key", "sk_secret"], env, /^The argument --api-key is not valid\. The API key is never/],
    ["an unknown name that is no word", ["--ключ"], env, /^The argument -- is not valid\./],
    ["two files", ["other.csv"], env, /^Name one CSV file/],
    ["no URL", [], { API_KEY: "k" }, /^Name the service's URL: --base-url URL/],
    ["no key", [], { BASE_URL: "https://fake.example" }, /^Give the API key in the environment variable API_KEY/],
    ["a missing key file", ["--api-key-file", "/nonexistent"], env, /^Cannot read \/nonexistent: ENOENT\.$/],
    ["other amounts", ["--amounts", "francs"], env, /^--amounts is units, .*, or lowest/],
    ["an invalid URL", ["--base-url", "ftp://x"], env, /^baseUrl must be/],
    ["a journal in no folder", ["--yes", "--journal", "/nonexistent/j"], env, /ENOENT/],
  ])("with %s", async (_, args, environment, message) => {
    const { code, errors } = await pay(lines, args, { environment });
    expect(code).toBe(2);
    expect(errors).toMatch(message);
    expect(errors).not.toContain("sk_secret");
    expect(service.payouts).toEqual([]);
  });

  test("need a journal", async () => {
    const errors: string[] = [];
    const quiet = { out: () => {}, error: (line: string) => void errors.push(line), onStop: () => {} };
    expect(await run(["payroll.csv"], env, quiet)).toBe(2);
    expect(errors).toEqual(["Name the journal: --journal FILE. It keeps the payroll from being paid twice."]);
  });

  test("may ask for help", async () => {
    const printed = expect.stringMatching(/^Usage: disbursement-pay/);
    for (const args of [["--help"], ["--yes", "-h"]])
      expect(await pay(lines, args)).toMatchObject({ code: 0, printed });
  });
});
