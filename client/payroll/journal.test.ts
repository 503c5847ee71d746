import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import * as fs from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Journal } from "./payroll.ts";
import { disbursementRequest, key, rejectionOf } from "../testing/fakes.ts";

// The real functions, which a test can replace for one call.
vi.mock("node:fs/promises", async (original) => {
  const actual = await original<typeof fs>();
  const { link, readFile, unlink } = actual;
  return {
    ...actual,
    link: vi.fn<typeof link>(link),
    readFile: vi.fn<typeof readFile>(readFile),
    unlink: vi.fn<typeof unlink>(unlink),
  };
});
const actual = await vi.importActual<typeof fs>("node:fs/promises");
// Test files share modules, and another file may have loaded these with the real functions.
vi.resetModules();
const { fileJournal } = await import("./journal.ts");
const { UsageError } = await import("../index.ts");

const entry = (reference: string, changes: object = {}) => ({ ...disbursementRequest, reference, ...changes });
const payout = (reference: string) => ({
  reference: `DSB-${reference}`,
  merchantsReference: reference,
  amount: 1500000,
  fee: 100,
  status: "pending" as const,
});

/** What the journal knows of an entry that was stored and has no outcome. */
const inDoubt = { payout: undefined };

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "client-journal-"));
  path = join(folder, "payroll.journal");
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the journal, uses it and closes it. */
async function using<R>(use: (journal: Journal) => Promise<R>): Promise<R> {
  const journal = fileJournal(path);
  try {
    return await use(journal);
  } finally {
    await journal.close!();
  }
}
const before = (...request: Parameters<typeof entry>) => using((journal) => journal.before(entry(...request)));
const beforeOf = (service: string) => using((journal) => journal.before(entry("a"), service));
/** The journal refuses, and says so. */
async function says(call: Promise<unknown>, message: RegExp | string) {
  await expect(call).rejects.toThrow(UsageError);
  await expect(call).rejects.toThrow(message);
}
const lines = () => readFileSync(path, "utf8").split("\n");

/** The prototype of all file handles, to observe or break their methods. */
async function handlePrototype(): Promise<FileHandle> {
  const handle = await fs.open(folder);
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}

describe("a file journal", () => {
  test("knows nothing of a new reference, is in doubt about it afterwards, and knows its payout at last", async () => {
    const reference = "é\u2028\n";
    expect(await before(reference)).toBeUndefined();
    expect(await before(reference)).toEqual(inDoubt);
    await using(async (journal) => {
      await journal.before(entry(reference));
      await journal.after(entry(reference), payout(reference));
    });
    expect(await before(reference)).toEqual({ payout: payout(reference) });
  });

  test("forgets an entry for which nothing was recorded, so that it can be corrected", async () => {
    await using(async (journal) => {
      await journal.before(entry("a"));
      await journal.after(entry("a"));
    });
    expect(await before("a", { phoneNumber: "2257038102474" })).toBeUndefined();
  });

  test.each([
    ["amount", { amount: 1 }],
    ["recipient", { phoneNumber: "2257038102474" }],
    ["country", { country: "GH" }],
    ["currency", { currency: "GHS" }],
  ])("refuses an entry with another %s, whether it was paid or is in doubt", async (_, changes) => {
    await using(async (journal) => {
      await journal.before(entry("paid"));
      await journal.after(entry("paid"), payout("paid"));
      await journal.before(entry("in doubt"));
    });
    const content = readFileSync(path, "utf8");
    for (const reference of ["paid", "in doubt"]) {
      await says(
        before(reference, changes),
        /^\S+journal has the reference "(paid|in doubt)" with another amount.* It belongs to another payroll/,
      );
    }
    expect(readFileSync(path, "utf8")).toBe(content);
  });

  test("belongs to one service, so that nobody takes a payroll that was tried in the sandbox for paid", async () => {
    await beforeOf("https://sandbox.example");
    await says(
      beforeOf("https://pay.example"),
      `${path} belongs to a payroll of https://sandbox.example. Use another journal for https://pay.example, or, if the ` +
        "service has moved there, replace the URL in the file.",
    );
    expect(await beforeOf("https://sandbox.example")).toEqual({});
    expect(lines().filter((line) => line.includes("sandbox"))).toEqual(['{"service":"https://sandbox.example"}']);
  });

  test("accepts another webhookURL, and an entry that no request can send", async () => {
    await before("a");
    expect(await before("a", { webhookURL: "https://merchant.example/hooks" })).toEqual(inDoubt);
    expect(await before("b", { amount: 100n })).toBeUndefined();
  });

  test("has one JSON line per step, without phone number, and only its owner can read it", async () => {
    await using(async (journal) => {
      await journal.before(entry("a"));
      const recovered = { ...payout("a"), recovered: true, customer: { phoneNumber: disbursementRequest.phoneNumber } };
      await journal.after(entry("a"), recovered);
      await journal.before(entry("b"));
      await journal.after(entry("b"));
    });
    const hash = expect.stringMatching(/^[\w-]{43}$/);
    expect(
      lines()
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { journal: "@disbursement-checkout/client", version: 1 },
      { reference: "a", hash },
      { payout: { ...payout("a"), recovered: true } },
      { reference: "b", hash },
      { reference: "b" },
    ]);
    expect(lines().join()).not.toContain(disbursementRequest.phoneNumber);
    expect(lines().join()).not.toContain(key);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("takes the access of others to an existing file away, or says that its owner must", async () => {
    writeFileSync(path, "", { mode: 0o644 });
    const chmod = vi.spyOn(await handlePrototype(), "chmod");
    chmod.mockRejectedValueOnce(Object.assign(new Error("not permitted"), { code: "EPERM" }));
    await says(before("a"), /^Other users .* have access to .* As its owner, run: chmod 600 /);
    expect(await before("a")).toBeUndefined();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("follows no symbolic link", async () => {
    symlinkSync(`${path}.elsewhere`, path);
    await says(before("a"), `${path} is a symbolic link. Name the file that it leads to, or remove it.`);
    expect(existsSync(`${path}.elsewhere`)).toBe(false);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("can be used again after it was closed", async () => {
    const journal = fileJournal(path);
    await journal.before(entry("a"));
    await journal.close!();
    expect(await journal.before(entry("a"))).toEqual(inDoubt);
    await journal.close!();
  });

  test("reads a file that is larger than one chunk", async () => {
    const references = Array.from({ length: 2000 }, (_, i) => `référence-${i}`);
    await using(async (journal) => {
      await Promise.all(references.map((reference) => journal.before(entry(reference))));
      await Promise.all(references.map((reference) => journal.after(entry(reference), payout(reference))));
    });
    expect(statSync(path).size).toBeGreaterThan(3 * 65_536);
    await using(async (journal) => {
      for (const reference of references) {
        expect(await journal.before(entry(reference))).toEqual({ payout: payout(reference) });
      }
    });
  });
});

describe("on disk", () => {
  test("an entry is flushed before it counts as stored, and entries that arrive together share a flush", async () => {
    const prototype = await handlePrototype();
    const flushed: string[] = [];
    const datasync = vi.spyOn(prototype, "datasync").mockImplementation(async () => {
      flushed.push(readFileSync(path, "utf8"));
    });
    await using(async (journal) => {
      await journal.before(entry("first"));
      expect(flushed.at(-1)).toContain('"first"');
      const count = datasync.mock.calls.length;
      await Promise.all(Array.from({ length: 50 }, (_, i) => journal.before(entry(`entry ${i}`))));
      expect(datasync.mock.calls.length - count).toBeLessThanOrEqual(2);
      for (let i = 0; i < 50; i++) expect(flushed.at(-1)).toContain(`"entry ${i}"`);
    });
  });

  test("a failed write is reported, and nothing is written after it", async () => {
    const prototype = await handlePrototype();
    await using(async (journal) => {
      await journal.before(entry("a"));
      vi.spyOn(prototype, "appendFile").mockRejectedValueOnce(new Error("disk full"));
      expect(await rejectionOf(journal.before(entry("b")))).toMatchObject({ message: "disk full" });
      expect(await rejectionOf(journal.before(entry("c")))).toMatchObject({ message: "disk full" });
    });
    expect(lines()).toHaveLength(3);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("the entry of a new file in its folder is flushed too", async () => {
    const sync = vi.spyOn(await handlePrototype(), "sync");
    await before("a");
    await before("b");
    expect(sync).toHaveBeenCalledTimes(1);
  });

  test.each([1, 10, 60])("an incomplete last line is removed: %i bytes less", async (missing) => {
    await before("a");
    await before("é");
    truncateSync(path, statSync(path).size - missing);
    expect(await before("a")).toEqual(inDoubt);
    expect(await before("é")).toBeUndefined();
    expect(await before("é")).toEqual(inDoubt);
  });

  test.each([0, 30])("a journal with only %i bytes of its first line is a new one", async (size) => {
    await before("a");
    truncateSync(path, size);
    expect(await before("a")).toBeUndefined();
    expect(await before("a")).toEqual(inDoubt);
  });

  test.each([
    ["another file", "reference,amount\na,1\n"],
    ["another file with one incomplete line", "reference,amount"],
    ["a journal of a later version", '{"journal":"@disbursement-checkout/client","version":2}\n'],
    ["a file that starts with an empty line", "\n"],
  ])("%s is refused and not changed", async (_, content) => {
    writeFileSync(path, content);
    await says(before("a"), "not a journal");
    expect(readFileSync(path, "utf8")).toBe(content);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test.each(["{", "null", "{}", '{"payout":{"merchantsReference":"unknown"}}'])(
    "a damaged line %s is refused with its number",
    async (line) => {
      await before("a");
      writeFileSync(path, `${line}\n`, { flag: "a" });
      await says(
        before("a"),
        /:3 is damaged\. Restore the file from a copy, or run .* in doubt\. Do not start a new journal: .* unpaid\.$/,
      );
      expect(lines()).toContain(line);
    },
  );

  test("a path that cannot be opened is reported and not locked", async () => {
    path = folder;
    expect(await rejectionOf(before("a"))).toMatchObject({ code: "EISDIR" });
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});

const ignoreRefusal = (error: unknown) => {
  if (!(error instanceof UsageError)) throw error;
};
const lockWith = (holder: string) => writeFileSync(`${path}.lock`, holder);
/** What the lock of a process contains. The last part is when the process started. */
const holderOf = (pid: number | undefined) => {
  const stat = `/proc/${pid}/stat`;
  const [started] = existsSync(stat) ? readFileSync(stat, "latin1").split(" ").slice(-31) : ["undefined"];
  return `${pid}@${hostname()}@${started}`;
};
/** The id of a process that has ended. */
const ended = () => spawnSync(process.execPath, ["-e", ""]).pid;

describe("the lock", () => {
  test("keeps a second run of this process out until the first one is closed", async () => {
    await using(async (journal) => {
      await journal.before(entry("a"));
      expect(readFileSync(`${path}.lock`, "utf8").split("@").slice(0, 2)).toEqual([`${process.pid}`, hostname()]);
      expect(statSync(`${path}.lock`).mode & 0o777).toBe(0o600);
      await says(before("a"), /Another run uses this journal.*\.lock/);
    });
    expect(readdirSync(folder)).toEqual(["payroll.journal"]);
    expect(await before("a")).toEqual(inDoubt);
  });

  test("keeps out another copy of the package in this process, and a path through a link to the folder", async () => {
    const name = "./journal.ts?copy";
    const copy = (await import(name)) as typeof import("./journal.ts");
    expect(copy.fileJournal).not.toBe(fileJournal);
    symlinkSync(folder, join(folder, "link"));
    await using(async (journal) => {
      await journal.before(entry("a"));
      for (const journals of [fileJournal, copy.fileJournal]) {
        for (const other of [path, join(folder, "link/payroll.journal")]) {
          expect(await rejectionOf(journals(other).before(entry("b")))).toMatchObject({ name: "UsageError" });
        }
      }
    });
    expect(await before("b")).toBeUndefined();
  });

  test.each([
    ["a process that runs", () => holderOf(process.ppid), true],
    ["another machine", () => `${ended()}@another-machine`, true],
    ["an unreadable owner", () => `someone@${hostname()}`, true],
    ["a process that has ended", () => `${ended()}@${hostname()}`, false],
    ["an earlier process with the id of another one", () => `${holderOf(process.ppid)}0`, false],
  ])("of %s is respected or replaced", async (_, toHolder, isRespected) => {
    const holder = toHolder();
    lockWith(holder);
    if (isRespected) {
      await says(before("a"), holder.split("@")[1]!);
      expect(readdirSync(folder)).toEqual(["payroll.journal.lock"]);
      // Whoever removes the lock by hand can start the run.
      rmSync(`${path}.lock`);
    }
    expect(await before("a")).toBeUndefined();
    expect(readdirSync(folder)).toEqual(["payroll.journal"]);
  });

  test("is held by one run only, wherever two others take it while a third removes a stale one", async () => {
    const stale = `${ended()}@${hostname()}`;
    const operations = ["link", "readFile", "unlink"] as const;
    for (let first = 1; first <= 9; first++) {
      for (let second = first; second <= 9; second++) {
        lockWith(stale);
        const journals = [fileJournal(path), fileJournal(path), fileJournal(path)] as const;
        const take = (journal: Journal) => journal.before(entry("a")).then(() => journal, ignoreRefusal);
        const results: (Journal | void)[] = [];
        let step = 0;
        // Before one operation of the first run, and before the same or a later one, another run has its whole turn.
        const interrupt = async () => {
          step++;
          const turns = [first === step && journals[1], second === step && journals[2]];
          for (const name of operations) vi.mocked(fs[name]).mockImplementation(actual[name] as never);
          for (const journal of turns) if (journal) results.push(await take(journal));
          follow();
        };
        const follow = () => {
          for (const name of operations) {
            vi.mocked(fs[name] as (...args: unknown[]) => Promise<unknown>).mockImplementation(async (...args) => {
              await interrupt();
              return (actual[name] as (...args: unknown[]) => Promise<unknown>)(...args);
            });
          }
        };
        follow();
        results.push(await take(journals[0]));
        for (const name of operations) vi.mocked(fs[name]).mockImplementation(actual[name] as never);
        const holders = results.filter((journal) => !!journal);
        expect([first, second, holders.length]).toEqual([first, second, 1]);
        await holders[0]!.close!();
        expect(readdirSync(folder)).toEqual(["payroll.journal"]);
        rmSync(path);
      }
    }
  });

  test("that a killed run was removing is named, to be removed by hand", async () => {
    lockWith(`${ended()}@${hostname()}`);
    writeFileSync(`${path}.lock.stale`, `${ended()}@${hostname()}`);
    await says(before("a"), /Another run uses this journal.*delete .*\.lock\.stale\.$/);
    rmSync(`${path}.lock.stale`);
    expect(await before("a")).toBeUndefined();
  });

  test.skipIf(process.platform !== "linux")(
    "of a killed process that its parent never notices is replaced",
    async () => {
      // The child ends after the shell has become `sleep`, which never reaps its children.
      const child = "(until grep -qx sleep /proc/$$/comm; do :; done)";
      const parent = spawn("sh", ["-c", `${child} & echo $!; exec sleep 60`]);
      try {
        const [pid] = (await once(parent.stdout, "data")).map((data) => String(data).trim());
        await expect.poll(() => readFileSync(`/proc/${pid}/stat`, "latin1")).toContain(") Z ");
        lockWith(holderOf(Number(pid)));
        expect(await before("a")).toBeUndefined();
      } finally {
        parent.kill();
      }
    },
  );

  test("of a process without permission to signal it is respected", async () => {
    lockWith(`4242@${hostname()}`);
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("not permitted"), { code: "EPERM" });
    });
    await says(before("a"), "process 4242");
  });
});
