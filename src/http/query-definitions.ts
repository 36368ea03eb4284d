import { z } from 'zod';
import { pageQuery } from './fields.ts';

/** The query of the lists of visualizations and dashboards. */
export const searchableList = pageQuery('per_page').extend({
  search: z.string().max(200).default('').meta({ description: 'A literal part of the name, in any case.' }),
});

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The body of every execution. The parameters are checked against what is executed, not here. */
export const executeBody = z.object({
  // Not a record of zod's: that would trip over a member called `__proto__`.
  parameters: z
    .custom<Record<string, unknown>>(isObject, 'must be an object of slugs and values')
    .default({})
    .meta({ type: 'object', additionalProperties: true, description: 'Values by slug of the filter or parameter.' }),
});
