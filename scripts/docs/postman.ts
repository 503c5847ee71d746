import { EXAMPLE_URL } from "../../server/http/docs/fill.ts";
import { exampleOf, operationsOf, type Json, type Operation } from "./contract.ts";

const SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
const API_KEY = { key: "x-api-key", value: "{{apiKey}}", in: "header" };
const VARIABLES = { baseUrl: EXAMPLE_URL, apiKey: "" };

/** The operations of payments as a Postman collection. @param document the resolved contract */
export function postmanCollection(document: Json): object {
  const operations = operationsOf(document["paths"]).filter(({ path }) => path.startsWith("/v1/"));
  const folders = Map.groupBy(operations, tagOf);
  return {
    info: { name: document["info"].title, description: document["info"].summary, schema: SCHEMA },
    auth: { type: "apikey", apikey: pairs(API_KEY) },
    variable: pairs(VARIABLES),
    item: [...folders].map(([name, members]) => ({ name, item: members.map(itemOf) })),
  };
}

const pairs = (values: object) => Object.entries(values).map(([key, value]) => ({ key, value, type: "string" }));
const tagOf = ({ operation }: Operation): string => operation["tags"][0];

/** A request. After a create, a variable that is called like the folder has the reference that the other requests need. */
function itemOf(each: Operation) {
  const { method, path, operation } = each;
  const { summary: name, description, requestBody } = operation;
  const request = { method, url: `{{baseUrl}}${path.replace("{reference}", `{{${tagOf(each)}}}`)}`, description };
  const example = exampleOf(requestBody);
  if (!example) return { name, request };
  const raw = JSON.stringify({ ...example, reference: "{{$guid}}" }, null, 2);
  const exec = [`pm.collectionVariables.set("${tagOf(each)}", pm.response.json().data.reference);`];
  return {
    name,
    request: { ...request, header: pairs({ "content-type": "application/json" }), body: { mode: "raw", raw } },
    event: [{ listen: "test", script: { exec } }],
  };
}
