import { z } from 'zod';
import { FILTER_OPERATORS } from '../../../tenant-sql/row-filters.ts';
import { makeTextSchema } from '../resources/fields.ts';
import { TIME_GRAINS } from './compile.ts';

const MAX_METRICS = 10;
const MAX_DIMENSIONS = 10;
const MAX_FILTERS = 20;
const MAX_FILTER_VALUES = 1000;
export const MAX_ROWS = 10_000;

const idOrName = makeTextSchema(200);

const filterValue = z.unknown().meta({
  description: 'A text, a number or a boolean, depending on the type of the dimension.',
});

/** The schema of a metric query as it is sent and stored: items by id or name, values as JSON. */
export const metricQuery = z
  .object({
    metrics: z
      .array(idOrName)
      .min(1)
      .max(MAX_METRICS)
      .meta({ description: 'Active metrics, by id or by name.', examples: [['Revenue']] }),
    dimensions: z
      .array(idOrName)
      .max(MAX_DIMENSIONS)
      .default([])
      .meta({ description: 'Active dimensions to group by, by id or by name.', examples: [['City']] }),
    filters: z
      .array(
        z.object({
          dimension: idOrName,
          op: z.enum(FILTER_OPERATORS),
          values: z
            .array(filterValue)
            .min(1)
            .max(MAX_FILTER_VALUES)
            .meta({ description: 'One value; several for `in` and `nin`; true or false for `is_null`.' }),
        }),
      )
      .max(MAX_FILTERS)
      .default([])
      .meta({
        description: 'All must match. They compare the values of the dimension before `time_grain` is applied.',
      }),
    time_grain: z.enum(TIME_GRAINS).nullable().default(null).meta({
      description:
        'Cuts dates and times among the dimensions to the first day of this period, in UTC. Weeks begin on Monday.',
    }),
    order_by: z
      .array(z.object({ by: idOrName, descending: z.boolean().default(false) }))
      .max(MAX_METRICS + MAX_DIMENSIONS)
      .default([])
      .meta({
        description: 'Metrics or dimensions of the query to sort by, nulls last; the dimensions when not sent.',
      }),
    limit: z.int().min(1).max(MAX_ROWS).default(1000).meta({ description: 'The most rows to return.' }),
  })
  .meta({ id: 'MetricQuery' });

export type MetricQueryInput = z.output<typeof metricQuery>;
