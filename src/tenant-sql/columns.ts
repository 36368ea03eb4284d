/** The types a column of a managed table can have, in the words of the API. */
export const COLUMN_TYPES = ['text', 'integer', 'decimal', 'boolean', 'date', 'datetime'] as const;

export type ColumnType = (typeof COLUMN_TYPES)[number];

/** A column of a managed table, as the API shows it and the catalogue keeps it. `id` is no column: every table has it. */
export interface Column {
  name: string;
  /** The friendly name. */
  display_name: string;
  type: ColumnType;
  nullable: boolean;
}

/** What Postgres calls each type. */
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
