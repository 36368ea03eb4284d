import type { JsonSchema } from './random/values.ts';

/** Where a value stands in a body: names of members, indexes of lists. */
export type Path = (string | number)[];

/** Every part of a schema, with the place of its value. */
export function* partsOf(
  part: JsonSchema,
  resolve: (part: JsonSchema) => JsonSchema,
  path: Path = [],
): Generator<[Path, JsonSchema]> {
  const schema = resolve(part);
  if (path.length > 8) return;
  yield [path, schema];
  for (const choice of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((choices) => choices ?? []))
    yield* partsOf(choice, resolve, path);
  for (const [name, field] of Object.entries(schema.properties ?? {})) yield* partsOf(field, resolve, [...path, name]);
  if (schema.items) yield* partsOf(schema.items, resolve, [...path, 0]);
  if (typeof schema.additionalProperties === 'object')
    yield* partsOf(schema.additionalProperties, resolve, [...path, 'any']);
}

const repeated = (part: string, separator: string, bytes: number): string =>
  Array.from({ length: Math.max(1, Math.floor(bytes / (part.length + separator.length))) }, () => part).join(separator);
const numbered = (bytes: number): string =>
  Array.from({ length: Math.floor(bytes / 12) }, (_, index) => `"n${index}":0`).join(',');

/** JSON that costs more to work through than it is long, for one place of a body: as much as is parsed at all. */
export const COSTLY: [what: string, json: (bytes: number) => string][] = [
  ['numbers', (bytes) => `[${repeated('0', ',', bytes)}]`],
  ['empty objects', (bytes) => `[${repeated('{}', ',', Math.min(bytes, 190_000))}]`],
  ['names', (bytes) => `{${numbered(Math.min(bytes, 118_000))}}`],
  ['marks', (bytes) => `"a${'\u0301'.repeat(bytes / 4 - 1)}${'\u0323'.repeat(bytes / 4 - 1)}"`],
  ['letters', (bytes) => `"${'a'.repeat(bytes - 2)}"`],
];

/** A body that holds such JSON in one place. */
export function bodyWith(path: Path, json: string): string {
  let [before, after] = ['', ''];
  for (const step of path) {
    before += typeof step === 'number' ? '[' : `{${JSON.stringify(step)}:`;
    after = (typeof step === 'number' ? ']' : '}') + after;
  }
  return before + json + after;
}
