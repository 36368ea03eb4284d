import { z } from 'zod';
import type { Failure } from '../../kernel/failure.ts';
import { policyViolation } from '../../kernel/sharing-failures.ts';
import { COLUMN_TYPES } from '../../tenant-sql/columns.ts';
import { databaseMessage } from '../../tenant-sql/failures.ts';
import type { Execution } from './run.ts';

const cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** The result of one visualization, on every surface. */
export const executionSchema = z
  .object({
    visualization_id: z.string(),
    columns: z.array(z.object({ name: z.string(), type: z.enum(COLUMN_TYPES) })).optional(),
    rows: z.array(z.array(cell)).optional().meta({
      description:
        'Integers and decimals are numbers where a double holds them exactly, else strings; dates are `YYYY-MM-DD`, datetimes ISO 8601 UTC.',
    }),
    row_count: z.int().optional(),
    truncated: z.boolean().optional().meta({ description: 'There is more than 10,000 rows or 10 MiB.' }),
    error: z.object({ error_code: z.string(), message: z.string() }).optional().meta({
      description: 'Stands instead of columns and rows when the visualization could not be computed.',
    }),
    duration_ms: z.int(),
    cached: z.boolean(),
  })
  .meta({ id: 'ExecuteResult' });

/**
 * An execution as every surface shows it.
 * @param explain whether the reader wrote the SQL or may change it: only then is the database's own message told
 */
export function viewExecution(execution: Execution, explain = false): z.input<typeof executionSchema> {
  const { visualizationId, durationMs, cached } = execution;
  const timing = { duration_ms: durationMs, cached };
  if ('failure' in execution) {
    return { visualization_id: visualizationId, error: errorOf(execution.failure, explain), ...timing };
  }
  const { columns, rows, truncated } = execution.result;
  return { visualization_id: visualizationId, columns, rows, row_count: rows.length, truncated, ...timing };
}

function errorOf(failure: Failure, explain: boolean): { error_code: string; message: string } {
  if (failure.kind === 'forbidden') {
    const isByPolicy = policyViolation.matches(failure);
    return { error_code: isByPolicy ? 'SHARE_FILTER_POLICY_VIOLATION' : 'FORBIDDEN', message: failure.message };
  }
  if (failure.kind === 'unavailable') {
    return { error_code: 'SERVICE_UNAVAILABLE', message: 'The database cannot be reached at the moment.' };
  }
  if (failure.detail.problems) {
    const problems = failure.detail.problems.map(({ field, message }) => `${field} ${message}`);
    return { error_code: 'VALIDATION_ERROR', message: explain ? problems.join('; ') : 'A parameter does not fit.' };
  }
  return {
    error_code: 'DB_QUERY_ERROR',
    message: (explain ? databaseMessage(failure) : undefined) ?? failure.message,
  };
}
