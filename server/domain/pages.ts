/** How many items a page has if the caller sets no limit. */
export const DEFAULT_LIMIT = 20;

export interface Page<T> {
  items: T[];
  /**
   * The cursor of the next page. In direction `older` it is absent on the last page. In direction `newer` it is absent
   * only while the list is empty, so that a caller can poll for later entries.
   */
  cursor?: string;
  /**
   * Set if the search stopped early because it read many entries and found few: when the last entry that it read was
   * created. Such a page has a cursor although it has fewer items than its limit.
   */
  searchedTo?: number;
}
