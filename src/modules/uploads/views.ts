import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import { makeView } from '../../http/wire.ts';
import { resultCellSchema, timestampSchema } from '../../kernel/fields.ts';
import { COLUMN_TYPES } from '../../tenant-sql/columns.ts';
import { mayReadRows } from '../managed-tables/service.ts';
import type { InferredColumn } from './inference/index.ts';
import { confirmedColumnInput, EVOLVE_MODES, type UploadJob } from './job.ts';

const status = z.enum(['queued', 'analisando', 'waiting_confirm', 'inserting', 'done', 'failed']);

const uploadModeField = z.enum(['create', 'append', 'replace', 'upsert']);

const SHOWN_TO_READERS_DESCRIPTION = 'Shown to who has `managed-tables:data-read` on the table.';

const inferredColumnView = z
  .object({
    name: z.string(),
    display_name: z.string().meta({ description: 'The header as written, up to 255 characters.' }),
    type: z.enum(COLUMN_TYPES),
    nullable: z.boolean().meta({
      description: 'Always true, because later files may have gaps; `evidence.nulls` counts the nulls of these files.',
    }),
    source_index: z
      .int()
      .nullable()
      .meta({ description: '0-based position in the files; null for a column of the existing table that they lack.' }),
    evidence: z.object({
      format: z.string().meta({
        description: 'How the values are written; if files differ, the formats are separated by ` | `.',
        examples: ['1.234,56', 'd/m/yyyy'],
      }),
      nulls: z.int(),
      distinct_sample: z.array(z.string()).meta({ description: SHOWN_TO_READERS_DESCRIPTION }),
      counter_example: z
        .object({ value: z.string(), line: z.int() })
        .nullable()
        .meta({ description: `The first value that forced the wider type. ${SHOWN_TO_READERS_DESCRIPTION}` }),
      not_numbers: z
        .int()
        .optional()
        .meta({ description: 'Values that are no numbers among numbers (NaN, infinities), which become null.' }),
    }),
  })
  .meta({ id: 'InferredColumn' });

/** An upload job in the API's responses. */
export const uploadJobView = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    user_table_id: z.string().nullable().meta({ description: 'The table, once it exists.' }),
    files: z.array(
      z.object({ original_name: z.string(), storage_path: z.string(), size_bytes: z.int(), mime_type: z.string() }),
    ),
    mode: uploadModeField,
    evolve: z.enum(EVOLVE_MODES).meta({ description: 'Whether the load may change the columns of its table.' }),
    status,
    inferred_schema: z
      .object({
        suggested_table_name: z.string(),
        columns: z.array(inferredColumnView),
        sample_rows: z
          .array(z.record(z.string(), resultCellSchema))
          .meta({ description: `The first rows, up to 20, typed. ${SHOWN_TO_READERS_DESCRIPTION}` }),
        total_row_count_estimate: z.int().meta({ description: 'Exact: every row was read.' }),
        ignored_columns: z.array(inferredColumnView).optional().meta({
          description:
            'Columns of the files that match no column of the existing table. The confirmation may assign them to other columns.',
        }),
        new_columns: z.array(inferredColumnView).optional().meta({
          description:
            'With `evolve`: columns of the files that the table lacks. The confirmation adds those that it sends, under any name.',
        }),
        changed_columns: z
          .array(
            z.object({
              name: z.string(),
              from: z.enum(COLUMN_TYPES),
              to: z.enum(COLUMN_TYPES),
              because: z.object({
                file: z.string(),
                line: z.int(),
                value: z.string().nullable().meta({ description: SHOWN_TO_READERS_DESCRIPTION }),
              }),
            }),
          )
          .optional()
          .meta({
            description:
              'With `evolve=widen`: columns of the table that `columns` shows with a wider type, and the first value that needs it. The confirmation refuses the change by sending the type `from`.',
          }),
        dialect: z.object({
          encoding: z.string(),
          delimiter: z.string().nullable().meta({ description: 'Null where nothing delimits values, as in JSON.' }),
          quote: z.string().nullable().meta({ description: 'Null where quotes are characters like any other.' }),
          header: z.boolean(),
          skipped_lines: z.int().meta({ description: 'Lines of titles and notes, which are not rows.' }),
          skipped: z
            .array(z.object({ line: z.int(), text: z.string() }))
            .meta({ description: `The first 20 of them. ${SHOWN_TO_READERS_DESCRIPTION}` }),
          sheet: z.string().nullable().meta({ description: "The workbook's sheet that was read; null for a text." }),
          sheets: z
            .array(z.string())
            .nullable()
            .optional()
            .meta({ description: "The names of the workbook's sheets, up to 200; null for a text." }),
        }),
        problem: z.object({ field: z.string(), message: z.string() }).optional().meta({
          description:
            'Why the files could not be read with what was said last: the schema is that of before. `field` is the member to blame, or `files`; `message` is a sentence in Portuguese.',
        }),
      })
      .nullable(),
    confirmed_schema: z
      .object({ display_name: z.string(), columns: z.array(confirmedColumnInput), time_zone: z.string().nullable() })
      .nullable(),
    progress: z
      .object({
        phase: status,
        rows_processed: z.int(),
        rows_total: z.int().nullable(),
        bytes_processed: z.int(),
        bytes_total: z.int(),
      })
      .nullable()
      .meta({ description: 'Null while queued.' }),
    error: z
      .object({
        code: z.string().meta({ examples: ['VALUE_DOES_NOT_FIT', 'NO_ROWS', 'CANCELLED', 'EXPIRED'] }),
        message: z.string().meta({ description: 'A sentence in Portuguese.' }),
        file: z.string().optional(),
        line: z.int().optional().meta({ description: '1-based, where the record starts.' }),
        column: z.string().optional(),
        value: z.string().nullable().optional().meta({ description: SHOWN_TO_READERS_DESCRIPTION }),
        quota: z
          .string()
          .optional()
          .meta({ description: 'Of `QUOTA_EXCEEDED`: which, with its `limit` and the `use` so far.' }),
        limit: z.int().optional(),
        use: z.int().optional(),
      })
      .nullable(),
    key: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The columns of the key of an upsert; `id` for the ids of the rows.' }),
    result: z
      .object({ inserted: z.int(), updated: z.int(), unchanged: z.int() })
      .nullable()
      .meta({ description: 'What an upsert did, once it is done.' }),
    undone_at: timestampSchema.nullable().meta({ description: 'When the load was undone.' }),
    undone_by: z.string().nullable().meta({ description: 'Who undid it.' }),
    source_url: z.string().nullable().meta({
      description: 'Where the file was fetched from, without query and fragment; null where files were sent.',
    }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'UploadJob' });

/** Makes the API's view of a job: with values of the files only for a caller who may read rows of the table. */
export const viewUploadJob = (ctx: PrincipalContext, job: UploadJob): z.input<typeof uploadJobView> =>
  mayReadRows(ctx, job.userTableId ?? '*') ? viewWithValues(job) : removeValues(viewWithValues(job));

const viewJobRecord = makeView(uploadJobView);
const viewWithValues = ({ confirmedSchema: confirmed, ...job }: UploadJob) => {
  const { evolution: _, ...confirmedSchema } = confirmed ?? {};
  return {
    ...viewJobRecord({
      ...job,
      confirmedSchema: confirmed && (confirmedSchema as Omit<typeof confirmed, 'evolution'>),
    }),
    files: job.files.map(({ pieces: _, ...file }) => file),
  };
};

type JobView = ReturnType<typeof viewWithValues>;

const removeValues = ({ inferred_schema: schema, error, ...job }: JobView): z.input<typeof uploadJobView> => ({
  ...job,
  inferred_schema: schema && {
    ...schema,
    columns: schema.columns.map(removeEvidence),
    ...(schema.ignored_columns && { ignored_columns: schema.ignored_columns.map(removeEvidence) }),
    ...(schema.new_columns && { new_columns: schema.new_columns.map(removeEvidence) }),
    ...(schema.changed_columns && {
      changed_columns: schema.changed_columns.map(({ because, ...change }) => ({
        ...change,
        because: { ...because, value: null },
      })),
    }),
    sample_rows: [],
    dialect: { ...schema.dialect, skipped: [] },
  },
  error: error && removeValue(error),
});

const removeEvidence = (column: InferredColumn): InferredColumn => ({
  ...column,
  evidence: { ...column.evidence, distinct_sample: [], counter_example: null },
});

/** Removes the value from an error, and from its message where the value stands there in quotes. */
const removeValue = ({ value, message, ...error }: NonNullable<JobView['error']>) =>
  value === undefined
    ? { ...error, message }
    : { ...error, message: message.replaceAll(`"${value}"`, '"…"'), value: null };

/** A load of a table in the API's responses. */
export const loadView = z
  .object({
    job_id: z.string(),
    mode: uploadModeField,
    file_names: z.array(z.string()),
    row_count: z.int().meta({ description: 'Rows of the files.' }),
    inserted: z.int(),
    updated: z.int(),
    loaded_at: timestampSchema,
    loaded_by: z.string(),
    undoable: z.boolean().meta({ description: 'Whether the load can still be undone.' }),
  })
  .meta({ id: 'ManagedTableLoad' });

export const viewLoad = makeView(loadView);
