import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { forwardTcp } from "./forward.ts";
import type { Missed, Recorded } from "./recorded.ts";

const ignore = () => undefined;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const { key, cert } = await makeCertificate({ name: "localhost", hosts: ["localhost"] });
const listen = { host: "127.0.0.1", port: 0 };

/** Lets a server listen. Returns its port. */
async function serve(server: Server, port = 0): Promise<number> {
  server.listen(port, listen.host);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const shown = (body: unknown) => (Object(body) as { base64?: string }).base64?.replace(/.+/, atob) ?? "<cut>";
function summary(line: Recorded | Missed): string {
  if (line.kind === "missed") return line.reason!;
  const { method, body, response } = line;
  const answer = response ? [response.continued && 100, response.status, shown(response.body)] : [];
  return [method, shown(body), "->", ...answer].filter(Boolean).join(" ");
}

/** Starts a service and a forward to it. `lines` has what is told of the connections. */
async function start(scheme: "http" | "https") {
  const isSecure = scheme === "https";
  const server = isSecure ? createTlsServer({ key, cert, allowHalfOpen: true }) : createServer({ allowHalfOpen: true });
  const port = await serve(server);
  const [lines, said]: [(Recorded | Missed)[], string[]] = [[], []];
  const target = new URL(`${scheme}://localhost:${port}`);
  const { url, stop, cut } = await forwardTcp(
    { kind: "exchange", listen, target, certificates: { ca: cert } },
    (line) => lines.push(line),
    (text) => said.push(text),
  );
  onTestFinished(cut);
  const dial = () => connect({ host: listen.host, port: Number(new URL(url).port), allowHalfOpen: true });
  /** Connects. Returns both ends, and a function that passes a step of a conversation. */
  async function call() {
    const accepted = once(server, isSecure ? "secureConnection" : "connection") as Promise<[Socket]>;
    const caller = dial().on("error", ignore);
    const [service] = await accepted;
    service.on("error", ignore);
    const pass = async (step: string, size?: number) =>
      step.startsWith(">")
        ? passed(caller, service, step.slice(1), size)
        : passed(service, caller, step.slice(1), size);
    return { caller, service, pass };
  }
  return { server, port, lines, said, dial, call, stop };
}

/** Reads at least so many bytes. */
async function take(socket: Socket, count: number): Promise<string> {
  let taken = "";
  while (taken.length < count) {
    while (socket.readableLength === 0) await once(socket, "readable");
    taken += (socket.read() as Buffer).toString("latin1");
  }
  return taken;
}

/** Writes bytes in chunks, and expects the same at the other end. */
async function passed(from: Socket, to: Socket, bytes: string, size = bytes.length): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    from.write(bytes.slice(at, at + size), "latin1");
    await turn();
  }
  expect((await take(to, bytes.length)) === bytes).toBe(true);
}

/** Ends one direction, and expects the end without further bytes. */
async function endOf(from: Socket, to: Socket): Promise<void> {
  from.end();
  for await (const bytes of to.iterator({ destroyOnReturn: false })) expect(bytes).toBe("nothing");
}

const get = (method = "GET", more = "") => `>${method} /a HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const post = (body: string, more = "") => `${get("POST", `${more}Content-Length: ${body.length}\r\n`)}${body}`;
const status = (text: string, more = "") => `<HTTP/1.1 ${text}\r\n${more}\r\n`;
const ok = (body = "fine") => status("200 OK", `Content-Length: ${body.length}\r\n`) + body;
const chunked = "Transfer-Encoding: chunked\r\n";
const chunks = "3\r\nfin\r\n1;x=y\r\ne\r\n0\r\nTrailer: t\r\n\r\n";
const expecting = "Expect: 100-continue\r\nContent-Length: 2\r\n";
const fine = "GET -> 200 fine";

/** Steps, and what is told. ">" is sent by the caller, "<" by the service; "." is the service's end. */
const conversations: Record<string, [steps: string[], log: string[]]> = {
  chunks: [[get("POST", chunked) + chunks, status("201 Made", chunked) + chunks], ["POST fine -> 201 fine"]],
  "interim responses": [
    [get("POST", expecting), status("100 Go"), status("103 Early", "A: b\r\n"), ">{}", ok()],
    ["POST {} -> 200 fine"],
  ],
  "a 100 Continue for which nobody asked": [[post("{}"), status("100 Go"), ok()], ["POST {} -> 100 200 fine"]],
  HEAD: [
    [get("HEAD"), status("103 Early") + ok("").slice(1), get(), ok()],
    ["HEAD -> 200", fine],
  ],
  "204 and 304": [
    [get(), status("204 No"), get(), status("304 No"), get(), ok()],
    ["GET -> 204", "GET -> 304", fine],
  ],
  "a response without a length": [[get(), status("200 OK"), "<fi", "<ne", "."], [fine]],
  "a refusal before the request ends": [[post("{}").slice(0, -1), ok("no")], ["POST <cut> -> 200 no"]],
  "a refusal, then the rest": [[post("{}").slice(0, -1), ok("no"), ">}"], ["POST {} -> 200 no"]],
  "a request without a response": [[post("{}"), "."], ["POST {} ->"]],
  "a response that is cut": [[get(), ok().slice(0, -1), "."], ["GET -> 200 <cut>"]],
  "large bodies": [[post("\xff".repeat(2 ** 19)), ok("\xff".repeat(2 ** 20))], ["POST <cut> -> 200 <cut>"]],
  "another protocol": [[get(), status("101 Yes"), "<\0", get(), "<\xff"], ["switched to another protocol"]],
  "requests sent ahead": [[get() + get().slice(1), ok() + ok().slice(1)], ["caller does not wait for responses"]],
  "a response to nothing": [[ok(), get(), ok()], ["responses to requests that were not seen"]],
  "what is not HTTP/1.1": [[">\x16\x03\xff", "<\0\r\n\r\n\xfe", get(), ok()], ["cannot be read as HTTP/1.1"]],
  nothing: [[], []],
};
const ways = [
  { scheme: "http", size: 1 },
  { scheme: "https", size: 2 ** 20 },
] as const;
const rows = Object.keys(conversations).flatMap((name) => ways.map((way) => ({ ...way, name })));

test.each(rows)("$scheme: $name in chunks of $size", async ({ scheme, name, size }) => {
  const [steps, expected] = conversations[name]!;
  const { call, stop, lines } = await start(scheme);
  const { caller, service, pass } = await call();
  for (const step of steps) {
    if (step === ".") await endOf(service, caller);
    else await pass(step, Math.max(size, step.length / 100));
  }
  await endOf(caller, service);
  await endOf(service, caller);
  await stop();
  expect(lines.map(summary)).toEqual(expected.map((text) => expect.stringContaining(text)));
});

test("an exchange begins with the first byte of the request and ends with the last of the response", async () => {
  const { call, lines } = await start("http");
  const { pass } = await call();
  const now = vi.spyOn(Date, "now");
  onTestFinished(() => now.mockRestore());
  for (const [at, step] of [get().slice(0, 5), `>${get().slice(5)}`, ok().slice(0, -1), "<e"].entries()) {
    now.mockReturnValue(at + 1);
    await pass(step);
  }
  expect(lines).toMatchObject([{ sentAt: 1, endedAt: 4 }]);
});

test("holds a caller back that sends faster than the service reads", async () => {
  const { caller, service } = await (await start("http")).call();
  const [piece, total] = [2 ** 20, 2 ** 26];
  let [sent, arrived, waiting] = [0, 0, 0];
  async function send() {
    for (; sent < total; sent += piece) if (!caller.write(Buffer.alloc(piece))) await once(caller, "drain");
    caller.end();
  }
  const sending = send();
  for await (const chunk of service) {
    arrived += (chunk as Buffer).length;
    waiting = Math.max(waiting, sent - arrived);
    for (let turns = 0; turns < 5; turns += 1) await turn();
  }
  await sending;
  expect(arrived).toBe(total);
  // What the sockets of the system hold, and no more.
  expect(waiting).toBeLessThan(total / 2);
});

test.each(["http", "https"] as const)(
  "%s: a slow caller gets the response of a service that refuses the rest of a request",
  async (scheme) => {
    const { call, stop, lines } = await start(scheme);
    const { caller, service, pass } = await call();
    await pass(get());
    const response = status("200 OK")
      .slice(1)
      .padEnd(2 ** 20, "x");
    service.end(response);
    while (lines.length === 0) await turn();
    service.destroy();
    for (let times = 0; times < 50; times += 1) {
      caller.write("the rest");
      await turn();
    }
    expect((await take(caller, response.length)) === response).toBe(true);
    await endOf(caller, caller);
    await stop();
  },
);

test.each(["caller", "service"] as const)(
  "an abort of the %s reaches the other side, after what was sent",
  async (aborting) => {
    const ends = await (await start("http")).call();
    const other = ends[aborting === "caller" ? "service" : "caller"];
    await ends.pass(`${aborting === "caller" ? ">" : "<"}half`);
    const aborted = new Promise((resolve) => other.resume().once("close", resolve));
    ends[aborting].resetAndDestroy();
    expect(await aborted).toBe(true);
  },
);

test("closes callers' connections while the target is down, says so once, and says when it is back", async () => {
  const { server, port, dial, call, said } = await start("http");
  server.close();
  for (let calls = 0; calls < 3; calls += 1) {
    const caller = dial().on("error", ignore).resume();
    await new Promise((resolve) => caller.once("close", resolve));
  }
  expect(said).toEqual([expect.stringMatching(`nothing listens on localhost:${port} .* Callers see closed`)]);
  await serve(server, port);
  await (await call()).pass(">back");
  expect(said).toEqual([expect.anything(), `localhost:${port} can be reached again.`]);
});

test("says which address cannot be listened on", async () => {
  const port = await serve(createServer());
  const route = { kind: "exchange", listen: { ...listen, port }, target: new URL("http://127.0.0.1:1") } as const;
  await expect(forwardTcp(route, ignore, ignore)).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
});
