import { z } from 'zod';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The body of every execution. The parameters are checked against what is executed, not here. */
export const executeBody = z.object({
  // Not a record of zod's: that would trip over a member called `__proto__`.
  parameters: z
    .unknown()
    .meta({ type: 'object', additionalProperties: true, description: 'Values by slug of the filter or parameter.' })
    .refine(isObject, 'must be an object of slugs and values')
    .default({})
    .transform((parameters) => parameters as Record<string, unknown>),
});
