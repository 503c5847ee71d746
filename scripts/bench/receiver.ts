// A webhook receiver that accepts everything immediately and records arrival times. GET returns them and clears the
// list. After `PUT /down` it responds with 503, until `PUT /up`.
import { json } from "node:stream/consumers";
import { serve } from "../../server/testing/http.ts";

const arrivals: { settledAt: number; arrivedAt: number }[] = [];
let isUp = true;

const { url } = await serve(async (request, response) => {
  if (request.method === "GET") return void response.end(JSON.stringify(arrivals.splice(0)));
  if (request.method === "PUT") {
    isUp = request.url === "/up";
    return void response.end();
  }
  const { data } = (await json(request)) as { data: { updatedAt: string } };
  if (!isUp) return void response.writeHead(503).end();
  arrivals.push({ settledAt: Date.parse(data.updatedAt), arrivedAt: Date.now() });
  response.writeHead(204).end();
});
console.log(url);
