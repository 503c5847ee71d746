// Servers whose responses have the wrong form (D2, D6, D15, D20).
import { through, type Faults } from "../../broken/fault.ts";
import { described } from "../../broken/calls.ts";
import { dataOf, isAccepted, isError, withBody, withHeader } from "../../broken/replies.ts";
import { responses, statuses } from "../../broken/changes.ts";

export const faults: Faults = {
  "answers.exact: An unknown reference returns 418.": statuses("verifyDisbursement", 404, 418),
  "answers.envelope-200: The envelope of a successful response has no statusCode.": responses(described, (reply) =>
    isAccepted(reply) ? withBody(reply, { data: dataOf(reply) }) : reply,
  ),
  "answers.headers: Every error has Retry-After: undefined.": through(
    "refusal.bad-value-422",
    responses("every", (reply) => (isError(reply) ? withHeader(reply, "retry-after", "undefined") : reply)),
  ),
  "answers.request-id: Responses have no x-request-id.": responses("every", (reply) =>
    withHeader(reply, "x-request-id"),
  ),
  "answers.request-id-own: All responses have the same x-request-id.": responses("every", (reply) =>
    withHeader(reply, "x-request-id", "req_0000000000000000"),
  ),
  "answers.request-id-own: The response has the x-request-id of its request.": responses(
    "every",
    (reply, { headers }) => {
      const given = headers["x-request-id"];
      return given === undefined ? reply : withHeader(reply, "x-request-id", String(given));
    },
  ),
};
