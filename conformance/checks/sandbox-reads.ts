// Checks the operations of the sandbox on which other checks rely (D12, D18): a sandbox without them counts as one that
// cannot do something, so they must not fail in another way.
import { describeResponse, type Check } from "../check.ts";
import { expectStatus } from "./expect.ts";
import { dataOf } from "./requests.ts";

const paths = ["/sandbox/clock", "/sandbox/webhook-secret", "/sandbox/events", "/sandbox/deliveries"];
const secret = "/sandbox/webhook-secret";

export const sandboxReadChecks: Check[] = [
  {
    name: "Sandbox can be read, or does not exist",
    ids: ["sandbox.reads"],
    effect: "none",
    async run(context) {
      for (const path of paths) {
        const response = await context.target.send({ method: "GET", path });
        expectStatus(context, "sandbox.reads", response, [200, 404], `for ${path}`);
      }
    },
  },
  {
    name: "At most five previous secrets are valid",
    ids: ["signature.five-secrets"],
    effect: "moves-money",
    // The caller's receivers may rely on the first merchant's secret.
    needs: ["secret", "rotate", "second-key"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated seven times.",
    async run(context) {
      const rotate = { method: "POST", path: `${secret}/rotate`, effect: "moves-money", key: "second" } as const;
      for (let time = 0; time < 7; time += 1) {
        const response = await context.target.send(rotate);
        expectStatus(context, "signature.five-secrets", response, 200, "for a rotation");
      }
      const response = await context.target.send({ method: "GET", path: secret, key: "second" });
      const { previousSecrets } = dataOf(response);
      const count = Array.isArray(previousSecrets) ? previousSecrets.length : undefined;
      const actual = count === undefined ? describeResponse(response) : `${count} previous secrets`;
      context.judge("signature.five-secrets", count === 5, "5 previous secrets after 7 rotations", actual, []);
    },
  },
];
