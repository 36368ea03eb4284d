/** The types of a managed table's columns, in the API's words. */
export const COLUMN_TYPES = ['text', 'integer', 'decimal', 'boolean', 'date', 'datetime'] as const;

export type ColumnType = (typeof COLUMN_TYPES)[number];

/** A column of a managed table, as in the API and the catalogue. The `id` that every table has is not among them. */
export interface Column {
  name: string;
  display_name: string;
  type: ColumnType;
  nullable: boolean;
}

/** Postgres's name of each type. */
export const POSTGRES_TYPES: Record<ColumnType, string> = {
  text: 'text',
  integer: 'bigint',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  datetime: 'timestamptz',
};

/** Postgres allows 1,600 columns a table and counts dropped ones for ever: this leaves room for changes. */
export const MAX_COLUMNS = 1000;
