/**
 * How many of a merchant's newest rows decide whether something has changed: at least as many as the first page of a
 * list shows. Reading these rows notices every change of them, also by processes that commit in another order.
 */
export const NEWEST = { payments: 25, requests: 50 } as const;
