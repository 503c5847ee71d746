/** What the documentation serves at a path. */
export interface Resource {
  type: string;
  body: Buffer;
  /** The compressed body, for texts that become smaller. */
  gzip: Buffer | undefined;
  /** A hash of the body, which is the same in every process. */
  etag: string;
  policy?: string | undefined;
}

/** Pages load their styles and a script from this server, and send the search to it. */
const common =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; ";
const FRAMES = "frame-ancestors 'none'";

export const POLICY: string = common + FRAMES;

/** The page of the reference also sends requests to this server. */
export const CONSOLE_POLICY: string = `${common}connect-src 'self'; ${FRAMES}`;
