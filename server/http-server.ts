import { createServer, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Express } from "express";
import type { Config } from "./config.ts";

export interface Listener {
  port: number;
  /** Takes no more connections and resolves when the answers under way have gone out. */
  close(): Promise<void>;
}

/** @throws Error when the address cannot be listened on, with what to do about it */
export function listen(app: Express, { host, port }: Config): Promise<Listener> {
  const server = createServer(app);
  server.on("clientError", answerMalformed);
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new ListenError(explain(error, host, port))));
    server.listen(port, host, () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeIdleConnections();
          }),
      });
    });
  });
}

export class ListenError extends Error {
  override name = "ListenError";
}

function explain({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === "EADDRINUSE") return `Port ${port} of ${host} is taken. Stop what uses it, or set PORT to another.`;
  if (code === "EACCES") return `Port ${port} needs more rights than this user has. Set PORT to one above 1023.`;
  return `Cannot listen on ${host}:${port}: ${message}. Check HOST and PORT.`;
}

const STATUS_BY_CODE: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** What is no HTTP never reaches Express; it is answered in the shape of §7 all the same. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const status = STATUS_BY_CODE[error.code ?? ""] ?? 400;
  const phrase = STATUS_CODES[status];
  const body = JSON.stringify({ statusCode: status, error: phrase, message: "The request is not well-formed HTTP." });
  socket.end(
    `HTTP/1.1 ${status} ${phrase}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
