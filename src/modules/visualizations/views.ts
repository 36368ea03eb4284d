import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { type Failure, invalidInput } from '../../kernel/failure.ts';
import { resultCellSchema } from '../../kernel/fields.ts';
import { MEDIA_TYPES, makeFileHeaders, PreparedResponse } from '../../kernel/files.ts';
import { policyViolation } from '../../sharing/failures.ts';
import { COLUMN_TYPES } from '../../tenant-sql/columns.ts';
import { getDatabaseMessage } from '../../tenant-sql/failures.ts';
import { translate } from '../../texts/errors/translate.ts';
import { DEFAULT_LOCALE, type Locale } from '../../texts/locales.ts';
import { executionFailed } from './failures.ts';
import { type ResultFormat, writeResultFile } from './result-writers.ts';
import type { Execution } from './run.ts';
import type { Visualization } from './store.ts';

/** The data for drawing the result of a visualization, for callers who are shown the visualization. */
export const chartView = z.object({
  visualization_id: z.string(),
  name: z.string(),
  description: z.string(),
  chart: z.unknown(),
});

const viewChartRecord = makeView(chartView);
export const viewChart = ({ id, ...chart }: Pick<Visualization, 'id' | 'name' | 'description' | 'chart'>) =>
  viewChartRecord({ ...chart, visualizationId: id });

/** The result of one visualization, in the responses of every surface. */
export const executionSchema = z
  .object({
    visualization_id: z.string(),
    columns: z.array(z.object({ name: z.string(), type: z.enum(COLUMN_TYPES) })).optional(),
    rows: z.array(z.array(resultCellSchema)).optional().meta({
      description:
        'Integers and decimals are numbers where a double holds them exactly, else strings; dates are `YYYY-MM-DD`, datetimes ISO 8601 UTC.',
    }),
    row_count: z.int().optional(),
    truncated: z.boolean().optional().meta({ description: 'The result was cut at 10,000 rows or 10 MiB.' }),
    error: z.object({ error_code: z.string(), message: z.string() }).optional().meta({
      description: 'Replaces columns and rows if the visualization could not be computed.',
    }),
    duration_ms: z.int(),
    cached: z.boolean().meta({ description: 'Whether the result comes from the cache.' }),
  })
  .meta({ id: 'ExecuteResult' });

/** The result of SQL that is not saved. */
export const previewSchema = executionSchema
  .omit({ visualization_id: true, error: true })
  .required({ columns: true, rows: true, row_count: true, truncated: true })
  .meta({ id: 'PreviewResult' });

const viewExecutionRecord = makeView(executionSchema);

/**
 * Converts an execution to the API's format.
 * @param showsDatabaseError whether the reader wrote the SQL or may change it: only then is the database's own message included
 * @param locale the reader's language
 */
export function viewExecution(execution: Execution, showsDatabaseError = false, locale: Locale = DEFAULT_LOCALE) {
  const record = { ...execution, cached: execution.isCached };
  if ('failure' in record)
    return viewExecutionRecord({ ...record, error: viewFailure(record.failure, showsDatabaseError, locale) });
  return viewExecutionRecord({ ...record, ...record.result, rowCount: record.result.rows.length });
}

const viewPreviewRecord = makeView(previewSchema);
/** Makes the API's view of the result of SQL that is not saved. */
export const viewPreview = ({ result, isCached, durationMs }: Extract<Execution, { result: unknown }>) =>
  viewPreviewRecord({ ...result, rowCount: result.rows.length, durationMs, cached: isCached });

function viewFailure(failure: Failure, showsDatabaseError: boolean, locale: Locale) {
  const { kind, message: english, detail } = redactFailure(failure, showsDatabaseError);
  const message = translate(english, locale);
  if (kind === 'forbidden')
    return { error_code: policyViolation.matches(failure) ? 'SHARE_FILTER_POLICY_VIOLATION' : 'FORBIDDEN', message };
  if (kind === 'unavailable')
    return {
      error_code: 'SERVICE_UNAVAILABLE',
      message: translate('The database cannot be reached at the moment.', locale),
    };
  if (detail.problems) {
    const problems = detail.problems.map(({ field, message: problem }) => `${field} ${translate(problem, locale)}`);
    return { error_code: 'VALIDATION_ERROR', message: problems.join('; ') || message };
  }
  return { error_code: 'DB_QUERY_ERROR', message };
}

/** Matches an error that `viewExecution` made, in JSON. No text within a result matches, as its quotes are escaped. */
const JSON_ERROR_PATTERN = /("error":\{"error_code":"\w+","message":)("(?:[^"\\]|\\.)*")/g;

/** Translates the errors of executions in JSON, which was made in English for readers of all languages. */
export const translateErrors = (json: string, locale: Locale): string =>
  json.replaceAll(
    JSON_ERROR_PATTERN,
    (_, start: string, message: string) => start + JSON.stringify(translate(JSON.parse(message), locale)),
  );

/**
 * Reduces an execution's failure to what its reader may see.
 * @param showsDatabaseError whether to include the database's message
 */
function redactFailure(failure: Failure, showsDatabaseError: boolean): Failure {
  if (failure.kind === 'forbidden' || failure.kind === 'unavailable') return failure;
  if (failure.detail.problems)
    return showsDatabaseError
      ? failure
      : invalidInput([], 'A parameter has a value that does not fit.').addCause(failure);
  return executionFailed((showsDatabaseError ? getDatabaseMessage(failure) : undefined) ?? failure.message).addCause(
    failure,
  );
}

/** The formats in which the result of an execution can be downloaded. */
export const FILE_FORMATS = ['csv', 'ndjson', 'xlsx'] as const;

/** The media types of the downloadable formats. */
export const fileMediaTypes = FILE_FORMATS.map((format) => MEDIA_TYPES[format]);

/** The query of an execution that asks for a file. */
export const fileQuery = z.object({
  format: z.enum(FILE_FORMATS).optional().meta({
    description:
      'Returns the result as a file. A result that was cut carries `X-Truncated: true`, and one that failed is refused.',
  }),
  safe: z.enum(['true', 'false']).default('false').meta({
    description:
      "For spreadsheets, in CSV and XLSX: texts that begin with `=`, `+`, `-`, `@`, a tab or a carriage return are prefixed with `'`.",
  }),
});

/** The query for a file with the result of one of several visualizations. */
export const widgetQuery = fileQuery.extend({
  visualization_id: z
    .string()
    .optional()
    .meta({ description: 'The visualization whose result the file holds; required with `format`.' }),
});

/** Rejects the id of a visualization where no file is requested: then all visualizations are run. */
export function requireFormat(visualizationId: string | undefined): void {
  if (visualizationId !== undefined)
    throw invalidInput([{ field: 'visualization_id', message: 'is only accepted with format' }]);
}

/** Returns the response header that marks a truncated result; no header for a complete result. */
export const buildTruncationHeader = ({ truncated }: { truncated: boolean }): Record<string, string> =>
  truncated ? { 'X-Truncated': 'true' } : {};

/**
 * Builds a file of the result of an execution. @param showsDatabaseError whether the reader wrote the SQL or may change it @throws the
 * failure of an execution that failed, reduced to what its reader may see
 */
export function buildFile(
  execution: Execution,
  { name, format, escapesFormulas }: { name: string; format: ResultFormat; escapesFormulas: boolean },
  showsDatabaseError = false,
): PreparedResponse {
  if ('failure' in execution) throw redactFailure(execution.failure, showsDatabaseError);
  const { result } = execution;
  const body = writeResultFile({ format, title: name, escapesFormulas }, result);
  return new PreparedResponse(body, { ...makeFileHeaders(name, format), ...buildTruncationHeader(result) });
}
