/** A sandbox, or a service that moves real money. A database belongs to one of them for ever (D80). */
export type Mode = "sandbox" | "live";

/** The mode that SANDBOX asks for, if it is set. */
export type AskedMode = Mode | "unset";

export const modeOf = ({ sandbox }: { sandbox: boolean }): Mode => (sandbox ? "sandbox" : "live");
