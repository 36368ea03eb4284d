import { z } from 'zod';

/** Makes the schema of a whole number in a query, digits only: no `1e3`, `0x10`, blanks or fractions. Documented as integer. */
export const makeWholeNumberSchema = (defaultValue: number, minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum))
    .default(defaultValue)
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum, maximum, default: defaultValue });
      },
    });

/** Largest page number that can be requested. */
const LAST_PAGE = 1_000_000_000;

/** Makes the schema of `page` and the size of a page, under the name its surface gives it. */
export const makePageQuery = <Name extends string>(sizeName: Name, size = { usualPageSize: 20, maxPageSize: 100 }) =>
  z.object({
    page: makeWholeNumberSchema(1, 1, LAST_PAGE).meta({ description: 'The page, counted from 1.' }),
    [sizeName]: makeWholeNumberSchema(size.usualPageSize, 1, size.maxPageSize).meta({
      description: 'The most records on a page.',
    }),
  } as {
    page: ReturnType<typeof makeWholeNumberSchema>;
  } & Record<Name, ReturnType<typeof makeWholeNumberSchema>>);

/** Parsed ordering of a list, sent as `field`, or `-field` for descending. */
export interface Ordering<Field extends string = string> {
  field: Field;
  descending: boolean;
}

/** Makes the schema of an ordering over the fields by which a list can be ordered: `standardOrdering` when none is sent. */
const makeOrderingSchema = <const Fields extends readonly [string, ...string[]]>(
  fields: Fields,
  standardOrdering: string,
) => {
  type Field = Fields[number];
  return z
    .enum([...fields, ...fields.map((field) => `-${field}` as const)] as [Field, ...(Field | `-${Field}`)[]], {
      error: `must be one of ${fields.join(', ')}; prefix "-" for descending`,
    })
    .default(standardOrdering as `-${Field}`)
    .meta({ description: 'The field to sort by; a `-` before it sorts in descending order.' })
    .transform(
      (text): Ordering<Field> => ({ field: text.replace(/^-/, '') as Field, descending: text.startsWith('-') }),
    );
};

/** Makes the schema of `order_by` over a list's fields; the newest come first when it is not sent. */
export const makeOrderByQuery = <const Fields extends readonly ['created_at', ...string[]]>(fields: Fields) =>
  makeOrderingSchema(fields, '-created_at');

/** Schema of a yes or no in a query string; no when it is not sent. */
export const queryFlag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .default('false')
  .transform((text) => text === 'true');

/** Makes the schema of a list query of the organization API: `page`, `quantity` and `order_by` over `fields`. */
export const makeListQuery = <const Fields extends readonly ['created_at', ...string[]]>(fields: Fields) =>
  makePageQuery('quantity').extend({ order_by: makeOrderByQuery(fields) });

/** Converts a list's query to the database's page request: which page, in which order. */
export const toPageRequest = <Field extends string>(query: {
  page: number;
  quantity: number;
  order_by: Ordering<Field>;
}) => ({
  by: query.order_by.field,
  descending: query.order_by.descending,
  page: query.page,
  perPage: query.quantity,
});

/** Additions to the contract and the query of lists that show deleted records on an administrator's request. */
export const INCLUDE_DELETED_OPTION = {
  contract: { administratorsWith: 'include_deleted' },
  query: { include_deleted: queryFlag },
} as const;

/** Converts `include_deleted` to the list's deletion filter. */
export const toDeletionFilter = (query: { include_deleted: boolean }): 'living' | 'all' =>
  query.include_deleted ? 'all' : 'living';

/** Makes the schema of the text that a list is searched for. @param searchedField the searched field, such as `the name` */
export const makeSearchSchema = (searchedField: string) =>
  z
    .string()
    .max(200)
    .default('')
    .meta({ description: `Text that ${searchedField} must contain, ignoring case; no wildcards.` });

/** Schema of the queries of the lists of visualizations and dashboards. */
export const searchableListQuery = makePageQuery('per_page').extend({ search: makeSearchSchema('the name') });

/** Search and ordering of a list of people, or of resources that people administer. */
interface SortOptions<Fields extends readonly [string, ...string[]]> {
  /** Searched field, in words: `the name`. */
  searchedField: string;
  fields: Fields;
  /** Ordering that applies when none is sent. */
  defaultOrdering: Fields[number] | `-${Fields[number]}`;
}

/** Makes the schema of the query of a list that can be searched and sorted: a page, `search` and `sort_by`. */
export const makeSortedListQuery = <const Fields extends readonly [string, ...string[]]>(
  { searchedField, fields, defaultOrdering }: SortOptions<Fields>,
  size?: { usualPageSize: number; maxPageSize: number },
) =>
  makePageQuery('per_page', size).extend({
    search: makeSearchSchema(searchedField),
    sort_by: makeOrderingSchema(fields, defaultOrdering),
  });

/** Converts the query of a sorted list to the database's search request. */
export const toSortedRequest = <Field extends string>(query: {
  page: number;
  per_page: number;
  search: string;
  sort_by: Ordering<Field>;
}) => ({
  by: query.sort_by.field,
  descending: query.sort_by.descending,
  page: query.page,
  perPage: query.per_page,
  search: query.search,
});
