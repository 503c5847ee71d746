// The lower bound of the benchmark: node:http alone, which reads the body and sends the spec's examples.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const document = JSON.parse(await readFile(new URL("../../generated/openapi.json", import.meta.url), "utf8"));
const { DisbursementCreated, Disbursement } = document.components.examples;

const server = createServer((req, res) => {
  req.resume().once("end", () => {
    const body = JSON.stringify((req.method === "POST" ? DisbursementCreated : Disbursement).value);
    res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
