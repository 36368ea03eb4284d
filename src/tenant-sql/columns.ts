/** The types of a managed table's columns, named as in the API. */
export const COLUMN_TYPES = ['text', 'integer', 'decimal', 'boolean', 'date', 'datetime'] as const;

export type ColumnType = (typeof COLUMN_TYPES)[number];

/** A column of a managed table, in the form of the API and of the catalogue. The `id` that every table has is not included. */
export interface TableColumnDefinition {
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

/** The maximum number of columns: Postgres allows 1,600 and counts dropped ones for ever, so this leaves some for changes. */
export const MAX_COLUMNS = 1000;
