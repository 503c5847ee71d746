// V8's flags are set in a process of its own, because they are those of the whole process.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const heap = new URL("heap.ts", import.meta.url).href;

test("the memory for short-lived objects grows once the server has started, without a flag that is set again", async () => {
  const script = `
    import v8 from "node:v8";
    const { letHeapGrow } = await import(${JSON.stringify(heap)});
    const size = () => v8.getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size / 2 ** 20;
    function fill() {
      const kept = [];
      for (let index = 0; index < 2_000_000; index += 1) kept[index % 200_000] = { index };
      return size();
    }
    const before = fill();
    letHeapGrow();
    console.log(JSON.stringify([before, fill(), process.getActiveResourcesInfo().includes("Timeout")]));`;
  const args = ["--max-semi-space-size=16", "--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const [before, after, hasTimer] = JSON.parse(stdout) as [number, number, boolean];
  expect(before).toBeLessThan(8);
  expect(after).toBeGreaterThanOrEqual(16);
  expect(after).toBeLessThanOrEqual(32);
  expect(hasTimer).toBe(false);
});
