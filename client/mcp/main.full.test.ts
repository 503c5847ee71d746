// The command `disbursement-checkout-mcp` in a process of its own.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

test.each([[["--help"]], [["-h"]], [["--log", "--help"]], [["--approve", "plan", "-h"]], [["--http", "0", "-h"]]])(
  "%j explains the command, without any setting",
  async (args) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...args], { env: {} });
    expect([stderr, stdout]).toEqual(["", expect.stringMatching(/^Usage: disbursement-checkout-mcp /)]);
  },
);
