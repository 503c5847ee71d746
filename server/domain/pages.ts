/** How many items a page has if the caller sets no limit. */
export const DEFAULT_LIMIT = 20;

export interface Page<T> {
  items: T[];
  /** The cursor of the next page, unless this is the last. */
  cursor?: string;
  /**
   * When the last entry that the search read was created. Set only if the search stopped early, because it read many
   * entries and found few. Such a page has a cursor although it has fewer items than its limit.
   */
  searchedTo?: number;
}
