// Reads, changes and builds responses, for faults.
import { fieldsOf, without, type Fields } from "./calls.ts";
import type { Reply } from "./fault.ts";

export const isError = ({ status }: Reply) => status >= 400;

export const isAccepted = ({ status }: Reply) => status >= 200 && status < 300;

export const dataOf = (reply: Reply): Fields => (fieldsOf(reply.text)?.["data"] ?? {}) as Fields;

export const itemsOf = (reply: Reply) => (dataOf(reply)["items"] ?? []) as Fields[];

export const withHeader = (reply: Reply, name: string, value?: string): Reply => {
  const headers = without(reply.headers, name) as Reply["headers"];
  return { ...reply, headers: value === undefined ? headers : { ...headers, [name]: value } };
};

export const withBody = (reply: Reply, body: unknown): Reply => ({ ...reply, text: JSON.stringify(body) });

export const withData = (reply: Reply, data: unknown): Reply => withBody(reply, { ...fieldsOf(reply.text), data });

/** Changes the status of a response and the statusCode in its body. */
export const withStatus = (reply: Reply, status: number): Reply => ({
  ...withBody(reply, { ...fieldsOf(reply.text), statusCode: status }),
  status,
});

/** Builds an error response with the fields of §7. */
export const refusal = (status: number, message = "The request was refused."): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", "x-request-id": "req_0000000000000000" },
  text: JSON.stringify({ statusCode: status, error: "Refused", message }),
});

export const success = (data: unknown): Reply => withBody(refusal(200), { statusCode: 200, data });

export const html = (status: number): Reply => ({
  status,
  headers: { "content-type": "text/html" },
  text: `<html><body><h1>${status}</h1></body></html>`,
});
