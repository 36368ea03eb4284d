/** A page of records with the exact number of all that match. */
export interface Page<T> {
  total: number;
  page: number;
  perPage: number;
  records: T[];
}
