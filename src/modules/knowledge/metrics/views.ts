import { z } from 'zod';
import { makeView } from '../../../http/wire.ts';
import { resultCellSchema } from '../../../kernel/fields.ts';
import { COLUMN_TYPES } from '../../../tenant-sql/columns.ts';
import type { MetricResult } from './service.ts';

/** The response with the items that a query used. */
export const usedItems = z
  .array(z.object({ id: z.string(), kind: z.enum(['metric', 'dimension']), name: z.string() }))
  .meta({
    description: 'The metrics, the metrics that they build on, the dimensions, and the dimensions of the filters.',
  });

export const metricResult = z
  .object({
    columns: z
      .array(z.object({ name: z.string(), type: z.enum(COLUMN_TYPES) }))
      .meta({ description: 'Named as the items, dimensions first.' }),
    rows: z.array(z.array(resultCellSchema)).meta({
      description: 'Integers and decimals are numbers where a double holds them exactly, else strings.',
    }),
    row_count: z.int(),
    truncated: z.boolean().meta({ description: 'There are more rows than the limit, or than 10 MiB.' }),
    sql: z.string().meta({ description: 'The statement that was run; its values are bound.' }),
    used: usedItems,
  })
  .meta({ id: 'MetricResult' });

const viewMetricResult = makeView(metricResult);
export const viewResult = (result: MetricResult) => viewMetricResult({ ...result, rowCount: result.rows.length });
