import { z } from 'zod';

/** One parameter `name[a][b]=value` of a deep object. */
export interface DeepParameter {
  column: string;
  operator: string;
  value: string;
}

const PART = /^([^[\]]+)\[([^[\]]*)\]\[([^[\]]*)\]$/;

/**
 * What gathers the parameters of a query that belong to its deep objects, which the schema names by
 * `param: { style: 'deepObject' }`: `filter[a][eq]=1&filter[b][in]=2` become a list under `filter`, one element for each
 * parameter, however often it comes. Parameters of another form stay, for the schema to refuse.
 */
export function gatherDeepObjects(schema: z.ZodType): (query: unknown) => unknown {
  const names = schema instanceof z.ZodObject ? deepObjectsOf(schema.shape) : [];
  if (names.length === 0) return (query) => query;
  return (query) => gather(names, query as Record<string, string | string[]>);
}

const deepObjectsOf = (shape: Record<string, z.ZodType>): string[] =>
  Object.keys(shape).filter((name) => shape[name]?.meta()?.param?.style === 'deepObject');

function gather(names: string[], query: Record<string, string | string[]>): Record<string, unknown> {
  const gathered = new Map<string, DeepParameter[]>();
  const rest: [string, unknown][] = [];
  for (const [key, values] of Object.entries(query)) {
    const [, name = '', column = '', operator = ''] = PART.exec(key) ?? [];
    if (!names.includes(name)) {
      rest.push([key, values]);
      continue;
    }
    const parameters = gathered.get(name) ?? [];
    for (const value of [values].flat()) parameters.push({ column, operator, value });
    gathered.set(name, parameters);
  }
  // What stands under the bare name is refused as no list.
  return Object.fromEntries([...gathered, ...rest]);
}
