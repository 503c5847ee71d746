/** Items on a page if the caller sets no limit. */
export const DEFAULT_LIMIT = 20;

export interface Page<T> {
  items: T[];
  /**
   * The cursor of the next page. In direction `older` it is absent on the last page. In direction `newer` it is absent
   * only while the list is empty, so that a caller can poll for later entries.
   */
  cursor?: string;
  /**
   * Set if the page ended because many entries were looked at and few found: when the last one looked at was created.
   * Such a page has fewer items than its limit, or none, and a cursor.
   */
  searchedTo?: number;
}
