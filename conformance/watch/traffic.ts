// The traffic that `certify watch` judges: exchanges between callers and the service, and the webhooks of the service.

/** Why a body is not known: a log left it out, it was cut, or it cannot be decoded. */
export type Absent = { absent: "missing" | "cut" | "undecodable" };
/** A body as its sender meant it: without chunks and content codings. A message without a body has an empty text. */
export type Body = string | Absent;

/** Names in lower case. The values of a repeated header are joined with ", ". */
export type Headers = Readonly<Record<string, string>>;

export type Exchange = {
  kind: "exchange";
  /** Milliseconds since 1970: when the request began, and when the response ended. */
  sentAt: number;
  endedAt: number;
  method: string;
  /** The path and query, as sent. */
  path: string;
  headers: Headers;
  body: Body;
  /** Undefined if no response came. */
  response?: { status: number; headers: Headers; body: Body; continued?: true };
  /** Who calls, if the source names callers and leaves out keys. By default callers are told apart by their keys. */
  caller?: string;
};

/** A webhook that the service sent. */
export type Webhook = {
  kind: "webhook";
  sentAt: number;
  /** The path and query of the address, as sent. */
  path: string;
  headers: Headers;
  body: Body;
  /** How the receiver responded; undefined if it did not. */
  status?: number;
};

/** Returns the webhook that an exchange with a receiver is. */
export const webhookOf = ({ sentAt, path, headers, body, response }: Exchange): Webhook => ({
  kind: "webhook",
  sentAt,
  path,
  headers,
  body,
  ...(response && { status: response.status }),
});

export type Seen = Exchange | Webhook;

/** What a judge is told. */
export type Listener = {
  see(seen: Seen): void;
  /** Notes that traffic was not seen or cannot be judged, and why. Equal reasons are counted together. */
  missed(reason: string, count?: number): void;
};
