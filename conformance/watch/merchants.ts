// Tells merchants apart by the keys of their calls. A merchant may have several keys.
import type { Call } from "./calls.ts";
import type { Hash } from "./tally.ts";

type Member = { group: Group; epoch: number };
/** The keys of one merchant. */
type Group = { first: number; members: number[]; userId?: string | undefined; forgottenAt: number };

/** What a log writes in place of a key, or of most of it. Two merchants may have the same. */
const isMasked = (key: string) => /^[\Wx_]*$|\*{3}|•|…|\.{3}|^[[<({]|redact|mask|hidden|filtered|removed/i.test(key);

export type Merchants = ReturnType<typeof createMerchants>;

export function createMerchants(hashOf: Hash, missed: (reason: string) => void) {
  const byCaller = new Map<number, number>();
  const byUser = new Map<string, number>();
  const all: Member[] = [];
  const groupOf = (member: number) => all[member]!.group;

  /** Notes that two callers are one merchant. */
  function join(one: number, other: number) {
    const [group, joined] = [groupOf(one), groupOf(other)];
    if (group === joined) return;
    group.userId ??= joined.userId;
    group.forgottenAt = Math.max(group.forgottenAt, joined.forgottenAt);
    for (const member of joined.members) all[member]!.group = group;
    group.members.push(...joined.members);
  }

  function forgetGroup(group: Group, at: number) {
    if (group.forgottenAt === at) return;
    group.forgottenAt = at;
    for (const each of group.members) all[each]!.epoch += 1;
  }

  return {
    join,
    get count() {
      return new Set(all.map(({ group }) => group)).size;
    },
    /** Returns the number of a call's caller; undefined if it is not known, or if no call of it was accepted yet. */
    of({ exchange: { caller, headers }, status }: Call): number | undefined {
      const key = headers["x-api-key"];
      if (isMasked(caller ?? key ?? "")) {
        if (status < 400) missed("the caller is not known: only single exchanges were judged");
        return undefined;
      }
      const name = hashOf(caller === undefined ? `key ${key}` : `caller ${caller}`);
      const known = byCaller.get(name);
      if (known !== undefined || status < 200 || status >= 300) return known;
      const first = all.length;
      all.push({ group: { first, members: [first], forgottenAt: -Infinity }, epoch: 0 });
      byCaller.set(name, first);
      return first;
    },
    /** Returns the number of the first caller of the merchant. */
    root: (member: number) => groupOf(member).first,
    members: (member: number): readonly number[] => groupOf(member).members,
    userOf: (member: number) => groupOf(member).userId,
    /** Notes the owner of the caller's records. Another caller with the same owner is the same merchant. */
    own(member: number, userId: string) {
      groupOf(member).userId = userId;
      const other = byUser.get(userId);
      if (other === undefined) byUser.set(userId, member);
      else join(other, member);
    },
    epochOf: (member: number) => all[member]!.epoch,
    forgottenAt: (member: number) => groupOf(member).forgottenAt,
    /**
     * Forgets the records of the caller's merchant, and of callers that may be of the same merchant. What began before is
     * ignored from now on.
     */
    forget(member: number | undefined, at: number) {
      const own = member === undefined ? undefined : groupOf(member).userId;
      for (const { group } of all) {
        const isOther = own !== undefined && group.userId !== undefined && group.userId !== own;
        if (!isOther) forgetGroup(group, at);
      }
    },
    /** Forgets the records of the merchant that has this id. */
    forgetUser(userId: string, at: number) {
      const member = byUser.get(userId);
      if (member !== undefined) forgetGroup(groupOf(member), at);
    },
  };
}
