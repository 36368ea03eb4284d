import type { Client } from './client.ts';
import type { DataResult } from './generated/routes.ts';

/** Value of a parameter of a published visualization; null and an empty list mean no value, overriding the default. */
export type DataValue =
  | string
  | number
  | boolean
  | readonly (string | number)[]
  | { from?: string; to?: string }
  | null
  | undefined;

/** Result of a published visualization whose rows have the type that the caller names. */
export type ResultOf<Row> = Omit<DataResult, 'rows'> & { rows: Row[] };

/** Makes a function that calls a published visualization. The caller gives the types of its parameters and rows. */
export function endpointOf<
  Parameters extends { [Slug in keyof Parameters]: DataValue },
  Row extends readonly unknown[] = DataResult['rows'][number],
>(client: Client, slug: string): (parameters: Parameters) => Promise<ResultOf<Row>> {
  return async (parameters) => {
    const query = Object.fromEntries(
      Object.entries<DataValue>(parameters).flatMap(([name, value]) => toParameters(name, value)),
    );
    const result: unknown = await client.get('/data/{slug}', { params: { slug }, query });
    return result as ResultOf<Row>;
  };
}

type SentValue = string | number | boolean | (string | number)[];

/** Lists a value as query parameters of the request: each end of a range is a parameter of its own. */
function toParameters(name: string, value: DataValue): [string, SentValue][] {
  if (value === undefined) return [];
  if (value === null) return [[name, '']];
  if (typeof value !== 'object') return [[name, value]];
  if ('length' in value) return [[name, value.length === 0 ? '' : [...value]]];
  return Object.entries(value).flatMap(([end, at]) => (at === undefined ? [] : [[`${name}.${end}`, at]]));
}
