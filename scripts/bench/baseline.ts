// The baseline of the benchmark. It uses Express and express-openapi-validator with default settings and the same spec.
// Its handlers only return the spec's examples.
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import express from "express";
import { middleware } from "express-openapi-validator";

const document = JSON.parse(await readFile(new URL("../../generated/openapi.json", import.meta.url), "utf8"));
const { DisbursementCreated, Disbursement } = document.components.examples;

const app = express();
app.use(express.json());
app.use(middleware({ apiSpec: document, validateSecurity: { handlers: { apiKey: () => true } } }));
app.post("/v1/disbursements", (_req, res) => void res.json(DisbursementCreated.value));
app.get("/v1/disbursements/:reference", (_req, res) => void res.json(Disbursement.value));

const server = app.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
