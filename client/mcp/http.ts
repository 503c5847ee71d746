// The tools over streamable HTTP, with the transport and the authorisation of the SDK.
import { createHash, timingSafeEqual } from "node:crypto";
import type { RequestListener } from "node:http";
import { hostHeaderValidation, originValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, OAuthError, OAuthErrorCode, requireBearerAuth } from "@modelcontextprotocol/server";
import type { McpServer } from "@modelcontextprotocol/server";

const hash = (text: string) => createHash("sha256").update(text).digest();
const local = ["127.0.0.1", "localhost", "[::1]"];

/** Serves `/mcp` to requests with the token. Pages of other sites cannot reach it through a browser. */
export function httpListener(createServer: () => McpServer, token: string): RequestListener {
  const wanted = hash(token);
  const authorise = requireBearerAuth({
    verifier: {
      async verifyAccessToken(given) {
        if (!timingSafeEqual(hash(given), wanted)) throw new OAuthError(OAuthErrorCode.InvalidToken, "Wrong token");
        return { token: given, clientId: "host", scopes: [], expiresAt: Math.floor(Date.now() / 1000) + 3600 };
      },
    },
  });
  const mcp = createMcpHandler(createServer);
  const handle = toNodeHandler({
    async fetch(request, options) {
      if (new URL(request.url).pathname !== "/mcp") return new Response(undefined, { status: 404 });
      const authorised = await authorise(request);
      return authorised instanceof Response ? authorised : mcp.fetch(request, { ...options, authInfo: authorised });
    },
  });
  const isHostValid = hostHeaderValidation(local);
  const isOriginValid = originValidation(local);
  return (request, response) => {
    if (isHostValid(request, response) && isOriginValid(request, response))
      handle(request, response).catch(() => response.destroy());
  };
}
