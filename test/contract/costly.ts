import type { JsonSchema } from './random/values.ts';

/** The path of a value in a body: member names and list indexes. */
export type BodyPath = (string | number)[];

/** Lists every part of a schema, with the path of its value. */
export function* listParts(
  memberSchema: JsonSchema,
  resolve: (memberSchema: JsonSchema) => JsonSchema,
  path: BodyPath = [],
): Generator<[BodyPath, JsonSchema]> {
  const schema = resolve(memberSchema);
  if (path.length > 8) return;
  yield [path, schema];
  for (const choice of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((choices) => choices ?? []))
    yield* listParts(choice, resolve, path);
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    yield* listParts(field, resolve, [...path, name]);
  if (schema.items) yield* listParts(schema.items, resolve, [...path, 0]);
  if (typeof schema.additionalProperties === 'object')
    yield* listParts(schema.additionalProperties, resolve, [...path, 'any']);
}

const repeatPart = (repeatedText: string, separator: string, bytes: number): string =>
  Array.from(
    { length: Math.max(1, Math.floor(bytes / (repeatedText.length + separator.length))) },
    () => repeatedText,
  ).join(separator);
const makeNumberedMembers = (bytes: number): string =>
  Array.from({ length: Math.floor(bytes / 12) }, (_, index) => `"n${index}":0`).join(',');

/** JSON values that cost more to process than their length suggests, up to the largest size that is parsed. */
export const COSTLY_VALUES: [title: string, json: (bytes: number) => string][] = [
  ['numbers', (bytes) => `[${repeatPart('0', ',', bytes)}]`],
  ['empty objects', (bytes) => `[${repeatPart('{}', ',', Math.min(bytes, 190_000))}]`],
  ['names', (bytes) => `{${makeNumberedMembers(Math.min(bytes, 118_000))}}`],
  ['marks', (bytes) => `"a${'\u0301'.repeat(bytes / 4 - 1)}${'\u0323'.repeat(bytes / 4 - 1)}"`],
  ['letters', (bytes) => `"${'a'.repeat(bytes - 2)}"`],
];

/** Makes a body with the given JSON at a path. */
export function makeBody(path: BodyPath, json: string): string {
  let [before, after] = ['', ''];
  for (const step of path) {
    before += typeof step === 'number' ? '[' : `{${JSON.stringify(step)}:`;
    after = (typeof step === 'number' ? ']' : '}') + after;
  }
  return before + json + after;
}
