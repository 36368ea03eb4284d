import { z } from 'zod';
import { FILTER_OPERATORS, type FilterOperator } from '../../tenant-sql/row-filters.ts';

/** The maximum number of filters of a request. */
export const MAX_FILTERS = 50;
const MAX_SEARCH_LENGTH = 1000;
/** The maximum length of `fields`, in characters: the names of all columns that a table can have. */
const MAX_FIELDS_LENGTH = 65_000;

const OPERATOR_DESCRIPTIONS: Record<FilterOperator, string> = {
  eq: 'Equal.',
  ne: 'Not equal; nulls match too.',
  gt: 'Greater.',
  gte: 'Greater or equal.',
  lt: 'Less.',
  lte: 'Less or equal.',
  in: 'One of a comma-separated list. Put a value that contains a comma or a quote in `"…"` and double its quotes; spaces count.',
  nin: 'None of a comma-separated list, as for `in`; nulls match too.',
  contains: 'Contains this text, ignoring case; no wildcards.',
  starts_with: 'Begins with this text, ignoring case; no wildcards.',
  is_null: '`true` or `false`.',
};

const SCALAR_SCHEMAS = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }];

/** Makes the schema of an operator's value; a list of values means that the rows must match each of them. */
const makeFilterSchema = (operator: FilterOperator) =>
  operator === 'is_null'
    ? { type: 'boolean' }
    : operator === 'in' || operator === 'nin'
      ? { anyOf: SCALAR_SCHEMAS }
      : { anyOf: [...SCALAR_SCHEMAS, { type: 'array', items: { anyOf: SCALAR_SCHEMAS } }] };

const filterParameter = z
  .array(z.object({ column: z.string(), operator: z.string(), value: z.string() }), {
    error: 'must be written as filter[column][operator]=value, or as JSON',
  })
  .max(MAX_FILTERS, `must be at most ${MAX_FILTERS} filters`)
  .default([])
  .meta({
    param: { style: 'deepObject', explode: true },
    description:
      '`filter[column][operator]=value`, or the same as one parameter of JSON: `filter={"price":{"gte":10}}`; all filters must match. `id` takes `eq` and `in` only; `contains` and `starts_with` are for text columns. Values are read as the type of the column; of a `datetime` column, a date with `lte` or `gt` means the end of that day, in UTC.',
    override: ({ jsonSchema }) => {
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema];
      const operators = FILTER_OPERATORS.map((operator) => [
        operator,
        { ...makeFilterSchema(operator), description: OPERATOR_DESCRIPTIONS[operator] },
      ]);
      const columns = {
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: Object.fromEntries(operators),
          additionalProperties: false,
        },
      };
      Object.assign(jsonSchema, { anyOf: [columns, { type: 'string', contentMediaType: 'application/json' }] });
    },
  });

/** The query parameters that select rows of a table, and the columns to show: see `checkSelection`. */
export const selectionQuery = {
  filter: filterParameter,
  search: z
    .string()
    .max(MAX_SEARCH_LENGTH)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be Unicode text without NUL characters')
    .default('')
    .meta({ description: 'Text that a text column must contain, ignoring case; no wildcards.' }),
  fields: z
    .string()
    .max(MAX_FIELDS_LENGTH)
    .optional()
    .meta({
      description: 'The columns to return, separated by commas; `id` is always returned.',
      examples: ['city,price'],
    }),
};

/** The query parameter for the order of rows: see `parseSort`. */
export const sortByParameter = z
  .string()
  .max(80)
  .optional()
  .meta({
    description: '`field`, `field ASC`, `field DESC`, `-field` or `-field DESC`.',
    examples: ['price DESC'],
  });
