import { z } from 'zod';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values by slug. Not a record of zod's, which trips over a field called `__proto__`. */
export const valuesBySlug = (description: string) =>
  z
    .custom<Record<string, unknown>>(isObject, 'must be an object of slugs and values')
    .meta({ type: 'object', additionalProperties: true, description });

/** The body of every execution. The parameters are checked against what is executed, not here. */
export const executeBody = z.object({
  parameters: valuesBySlug('Values by slug of the filter or parameter.').default({}),
});
