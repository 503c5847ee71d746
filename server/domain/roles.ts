/** What a person may do in the dashboard. Every role may look at everything of its merchant, or of all merchants. */
export const ROLES = ["viewer", "support", "finance", "administrator"] as const;
export type Role = (typeof ROLES)[number];

/** The actions of people in the dashboard, each with the roles that may do it. An administrator may do everything. */
export const RIGHTS = {
  "replay webhooks": ["support"],
  "use the sandbox": ["support", "finance"],
  "pause a rail": ["support", "finance"],
  "decide about payments": ["finance"],
  "change balances": ["finance"],
  "reset the sandbox": [],
  "change settings": [],
  "manage people": [],
  "manage merchants": [],
} as const satisfies Record<string, readonly Role[]>;
export type Right = keyof typeof RIGHTS;

export const hasRight = (role: Role, right: Right): boolean =>
  role === "administrator" || (RIGHTS[right] as readonly Role[]).includes(role);

/** The role of this name; undefined if there is none. */
export const roleOf = (name: string): Role | undefined => ROLES.find((role) => role === name);
