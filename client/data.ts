import type { Client } from './client.ts';
import type { DataResult } from './generated/routes.ts';

/** A value of a parameter of a published visualization; null and an empty list are no value, in place of the parameter's default. */
export type DataValue =
  | string
  | number
  | boolean
  | readonly (string | number)[]
  | { from?: string; to?: string }
  | null
  | undefined;

/** A result whose rows have the types that the caller knows them to have. */
export type ResultOf<Row> = Omit<DataResult, 'rows'> & { rows: Row[] };

/** A published visualization as a function. The caller gives the types of its parameters and rows. */
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

type Sent = string | number | boolean | (string | number)[];

/** The ends of a range are parameters of their own. */
function toParameters(name: string, value: DataValue): [string, Sent][] {
  if (value === undefined) return [];
  if (value === null) return [[name, '']];
  if (typeof value !== 'object') return [[name, value]];
  if ('length' in value) return [[name, value.length === 0 ? '' : [...value]]];
  return Object.entries(value).flatMap(([end, at]) => (at === undefined ? [] : [[`${name}.${end}`, at]]));
}
