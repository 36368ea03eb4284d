import { z } from 'zod';

/** A whole number in a query, digits only: no `1e3`, `0x10`, blanks or fractions. Programs have it as an integer. */
export const wholeNumber = (standard: number, minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum))
    .default(standard)
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum, maximum, default: standard });
      },
    });

/** Deepest page that can be asked for. */
const LAST_PAGE = 1_000_000_000;

/** `page` and the size of a page, under the name its surface gives it. */
export const pageQuery = <Name extends string>(sizeName: Name, size = { standard: 20, maximum: 100 }) =>
  z.object({
    page: wholeNumber(1, 1, LAST_PAGE).meta({ description: 'The page, counted from 1.' }),
    [sizeName]: wholeNumber(size.standard, 1, size.maximum).meta({ description: 'The most records on a page.' }),
  } as {
    page: ReturnType<typeof wholeNumber>;
  } & Record<Name, ReturnType<typeof wholeNumber>>);

/** An ordering as a list takes it: `field`, or `-field` for descending. */
export interface Ordering<Field extends string = string> {
  field: Field;
  descending: boolean;
}

/** An ordering over the fields a list can be ordered by: `standard` when it is not sent. */
const orderingOver = <const Fields extends readonly [string, ...string[]]>(fields: Fields, standard: string) => {
  type Field = Fields[number];
  return z
    .enum([...fields, ...fields.map((field) => `-${field}` as const)] as [Field, ...(Field | `-${Field}`)[]], {
      error: `must be one of ${fields.join(', ')}; prefix "-" for descending`,
    })
    .default(standard as `-${Field}`)
    .meta({ description: 'The field to sort by; a `-` before it sorts in descending order.' })
    .transform(
      (text): Ordering<Field> => ({ field: text.replace(/^-/, '') as Field, descending: text.startsWith('-') }),
    );
};

/** `order_by` over the fields a list can be ordered by; the newest come first when it is not sent. */
export const orderByQuery = <const Fields extends readonly ['created_at', ...string[]]>(fields: Fields) =>
  orderingOver(fields, '-created_at');

/** A yes or no in a query string; no when it is not sent. */
export const queryFlag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .default('false')
  .transform((text) => text === 'true');

/** The query of a list of the organization API: `page`, `quantity` and `order_by` over `fields`. */
export const listQuery = <const Fields extends readonly ['created_at', ...string[]]>(fields: Fields) =>
  pageQuery('quantity').extend({ order_by: orderByQuery(fields) });

/** A list's query in the terms of the database: which page, in which order. */
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

/** For lists that show deleted records too when an administrator asks for them: their additions to the contract and the query. */
export const INCLUDE_DELETED = {
  contract: { administratorsWith: 'include_deleted' },
  query: { include_deleted: queryFlag },
} as const;

/** Whether a list holds deleted records too. */
export const toDeletionFilter = ({ include_deleted: isAll }: { include_deleted: boolean }): 'living' | 'all' =>
  isAll ? 'all' : 'living';

/** Text that a list is searched for. @param where what has to contain it, such as `the name` */
export const searchQuery = (where: string) =>
  z
    .string()
    .max(200)
    .default('')
    .meta({ description: `Text that ${where} must contain, ignoring case; no wildcards.` });

/** The query of the lists of visualizations and dashboards. */
export const searchableList = pageQuery('per_page').extend({ search: searchQuery('the name') });

/** The search and the order of a list of people, or of resources that people administer. */
interface Sorting<Fields extends readonly [string, ...string[]]> {
  /** The field that is searched, in words: `the name`. */
  search: string;
  fields: Fields;
  /** The order when none is asked for. */
  standard: Fields[number] | `-${Fields[number]}`;
}

/** The query of a list that can be searched and sorted: a page, `search` and `sort_by`. */
export const sortedList = <const Fields extends readonly [string, ...string[]]>(
  { search, fields, standard }: Sorting<Fields>,
  size?: { standard: number; maximum: number },
) =>
  pageQuery('per_page', size).extend({
    search: searchQuery(search),
    sort_by: orderingOver(fields, standard),
  });

/** The query of a sorted list in the terms of the database. */
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
