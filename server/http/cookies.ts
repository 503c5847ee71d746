import type { Request } from "express";

/** The value of a cookie that the browser has sent. */
export function cookieIn(req: Request, name: string): string | undefined {
  const start = `${name}=`;
  const cookies = (req.headers.cookie ?? "").split(";").map((text) => text.trim());
  return cookies.find((text) => text.startsWith(start))?.slice(start.length);
}
