import { z } from 'zod';
import { COLUMN_TYPES, MAX_COLUMNS, type TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { IDENTIFIER_PATTERN, MAX_IDENTIFIER_LENGTH, RESERVED_COLUMN_NAMES } from '../../tenant-sql/identifiers.ts';

/** A managed table in the catalogue. Times are ISO 8601 UTC. */
export interface ManagedTable {
  id: string;
  companyId: string;
  displayName: string;
  columns: TableColumnDefinition[];
  source: TableSource;
  status: 'active';
  /** The exact number of rows. */
  rowCount: number;
  /** The version, increased by changes of the name and the columns. */
  schemaVersion: number;
  createdByUserId: string;
  createdAt: string;
  updatedAt: string;
}

/** A deleted table that can still be restored. */
export type DeletedTable = ManagedTable & { deletedAt: string };

export type TableSource = 'manual' | 'upload';

const identifier = z
  .string()
  .max(MAX_IDENTIFIER_LENGTH, `must have at most ${MAX_IDENTIFIER_LENGTH} characters`)
  .regex(IDENTIFIER_PATTERN, 'must start with a lower-case letter or _ and hold only a-z, 0-9 and _');

/** The schema of a managed table's name, which is also its name in SQL. */
export const tableName = identifier.meta({ examples: ['sales_2024'] });

const columnName = identifier.refine(
  (name) => !RESERVED_COLUMN_NAMES.has(name),
  'is reserved: every table has it already',
);

/** The schema of text that Postgres can store: no NUL, no half of a surrogate pair. */
const storableText = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be Unicode text without NUL characters');

/** The schema of a column in requests and responses. */
export const column = z
  .object({
    name: columnName.meta({ description: 'Name in the database.', examples: ['unit_price'] }),
    display_name: storableText.meta({ description: 'The friendly name.', examples: ['Unit price'] }),
    type: z.enum(COLUMN_TYPES),
    nullable: z.boolean(),
  })
  .meta({ id: 'ManagedTableColumn' });

/** Makes the schema of a list of columns with distinct names. */
export const makeColumnListSchema = <C extends z.ZodType<{ name: string }>>(columnSchema: C) =>
  z
    .array(columnSchema)
    .min(1, 'must hold at least one column')
    .max(MAX_COLUMNS, `must hold at most ${MAX_COLUMNS} columns`)
    .superRefine((columns, context) => {
      const names = new Set<string>();
      for (const [index, { name }] of columns.entries()) {
        if (names.has(name))
          context.addIssue({ code: 'custom', path: [index, 'name'], message: 'is used by another column' });
        names.add(name);
      }
    });

export const newTable = z.object({ display_name: tableName, columns: makeColumnListSchema(column) });

export type NewTable = z.output<typeof newTable>;
