// npm run certify:examples [-- PATTERN] judges the examples whose file matches, by default all, in all scenarios. It names
// the examples whose toolchain is missing. The exit code is 1 if an example fails other requirements than examples.ts says.
import { examples, failuresOf, isMissing, judgeExample } from "./examples.ts";

const pattern = new RegExp(process.argv[2] ?? "");
for (const example of examples.filter(({ file }) => pattern.test(file))) {
  const { file, toolchain, fails } = example;
  if (isMissing(example)) {
    console.error(`${file}: not judged without ${toolchain.name}.`);
    continue;
  }
  const report = await judgeExample(example, 1);
  const failed = failuresOf(report);
  const isStated = failed.toSorted().join() === fails.toSorted().join();
  console.log(`${isStated ? "ok  " : "FAIL"} ${file}: ${report.verdict}. ${report.summary} ${failed.join(", ")}`);
  if (!isStated) process.exitCode = 1;
}
