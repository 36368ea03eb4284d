import fc from 'fast-check';

/** As much of JSON Schema as the description uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

/** Stands for something the system answered earlier, of this kind where there is one; `withKnown` puts it in. */
export const generateKnown = (kind: string): fc.Arbitrary<string> =>
  fc.nat(999_999).map((pick) => `@known:${kind}:${pick}`);

/** An id, slug or token of any kind. */
export const knownOfAnyKind = generateKnown('');

/** What the system answered, for later requests to name: ids, slugs, tokens, by the word that stands before them in paths. */
export class KnownValues {
  readonly #all: string[] = [];
  readonly #byKind = new Map<string, string[]>();

  add(kind: string, ...values: string[]): void {
    const ofKind = this.#byKind.get(kind) ?? [];
    this.#byKind.set(kind, ofKind);
    for (const list of [ofKind, this.#all]) {
      list.push(...values.filter((value) => !list.includes(value)));
      // Those of the beginning stay, of later ones the newest.
      if (list.length > 200) list.splice(20, 80);
    }
  }

  /** The text with every stand-in replaced. */
  putInto(text: string): string {
    return text.replaceAll(/@known:([\w-]*):(\d+)/g, (_, kind, pick) => {
      const list = this.#byKind.get(kind) ?? this.#all;
      return list[Number(pick) % list.length] ?? 'none';
    });
  }
}

const SQL = [
  'SELECT region, amount FROM sales',
  'SELECT region FROM sales WHERE true [[AND region = ANY({{regions}})]]',
  'SELECT * FROM sales WHERE day >= {{days.from}} AND day <= {{days.to}}',
  'SELECT 1/0',
  'SELECT {{a}}',
  'SELEC',
  "SELECT '\u0000'",
  'DROP TABLE sales',
  'SELECT pg_sleep(0)',
  '[[[[ {{',
];

/** Surrogates stand for no character of their own. */
const SURROGATES = { from: 0xd800, count: 0x800 };

/** Any character. The library's own `binary` first lists all of them, which takes a second. */
const character = fc.nat(0x10ffff - SURROGATES.count).map(
  (number) => String.fromCodePoint(number < SURROGATES.from ? number : number + SURROGATES.count),
  (text) => {
    const code = [...String(text)].length === 1 ? (String(text).codePointAt(0) as number) : SURROGATES.from;
    if (code >= SURROGATES.from && code < SURROGATES.from + SURROGATES.count) throw new Error('no character');
    return code < SURROGATES.from ? code : code - SURROGATES.count;
  },
);

/** Values that no schema asks for. */
export const junkValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(null, '', ' ', '\u0000', '\ud800', '__proto__', -1, 0, 1.5, 1e308) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(true, [], {}, [[]], { __proto__: 1 }, 2 ** 60, 'ﬀİ', '%_\\'),
  },
  { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 40 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x'.repeat(5_000), 'é'.repeat(300), "'; --", '2026-02-30', '*', '{{x}}', '..'),
  },
  { weight: 1, arbitrary: knownOfAnyKind },
);

/** Values of a schema, mostly: one in `1 / wildness` places holds something else. */
export function generateValues(
  schema: JsonSchema,
  resolve: (ref: string) => JsonSchema,
  wildness: number,
  name = '',
  depth = 0,
): fc.Arbitrary<unknown> {
  const inner = (part: JsonSchema, of = name) => generateValues(part, resolve, wildness, of, depth + 1);
  const right = (): fc.Arbitrary<unknown> => {
    if (schema.$ref) return inner(resolve(schema.$ref));
    if ('const' in schema) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return fc.oneof(...choices.map((choice) => inner(choice)));
    if (schema.allOf) {
      const parts = fc.tuple(...schema.allOf.map((part) => inner(part)));
      return parts.map((values) => Object.assign({}, ...values.filter((value) => typeof value === 'object')));
    }
    const types = [schema.type ?? 'any'].flat();
    return fc.oneof(...types.map((type) => generateOfType(type, schema, inner, name, depth)));
  };
  return fc.oneof({ weight: Math.round(1 / wildness), arbitrary: right() }, { weight: 1, arbitrary: junkValue });
}

type GenerateInner = (part: JsonSchema, name?: string) => fc.Arbitrary<unknown>;

function generateOfType(
  type: string,
  schema: JsonSchema,
  inner: GenerateInner,
  name: string,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return generateObject(schema, inner, depth);
    case 'array': {
      const maxLength = Math.min(schema.maxItems ?? 4, 4);
      const minLength = Math.min(schema.minItems ?? 0, maxLength);
      return depth > 7 ? fc.constant([]) : fc.array(inner(schema.items ?? {}), { minLength, maxLength });
    }
    case 'integer':
    case 'number': {
      const min = Math.max(schema.minimum ?? -10, -(2 ** 31));
      const max = Math.min(schema.maximum ?? 100, 2 ** 31);
      return fc.oneof(fc.constantFrom(min, max, max + 1), fc.integer({ min, max }));
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return generateString(schema, name);
    default:
      return junkValue;
  }
}

function generateObject(schema: JsonSchema, inner: GenerateInner, depth: number): fc.Arbitrary<unknown> {
  const members = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required);
  if (members.length === 0) {
    const extra = typeof schema.additionalProperties === 'object' ? inner(schema.additionalProperties) : junkValue;
    const keys = fc.constantFrom('regions', 'region', 'days', 'city', 'amount', 'name', '__proto__', 'constructor');
    return depth > 7 ? fc.constant({}) : fc.dictionary(keys, extra, { maxKeys: 4 });
  }
  const chosen = members.map(([name, part]) =>
    fc.option(inner(part, name), { nil: undefined, freq: required.has(name) ? 30 : 1 }).map((value) => [name, value]),
  );
  return fc.tuple(...chosen).map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
}

const word = fc.constantFrom('sales', 'regions', 'region', 'acme', 'orders', 'north', 'Analysts', 'stores', 'amount');

function generateString(
  { format, pattern, minLength = 0, maxLength = 60 }: JsonSchema,
  name: string,
): fc.Arbitrary<unknown> {
  if (/(^|_)(id|ids|Id|token|slug|sort_by|key|type)$|Ids$/.test(name)) {
    return fc.oneof({ weight: 4, arbitrary: knownOfAnyKind }, { weight: 1, arbitrary: word });
  }
  if (name === 'sql' || name === 'formula' || name === 'filters') return fc.constantFrom(...SQL);
  if (format === 'email') return fc.constantFrom('owner@acme.test', 'ana@acme.test', 'x@y.example');
  if (format === 'date-time')
    return fc.constantFrom('2026-01-31T12:00:00Z', '2026-12-31T23:59:60Z', '0001-01-01T00:00:00Z');
  if (format === 'date') return fc.constantFrom('2026-01-31', '2024-02-29', '9999-12-31');
  // Nobody answers there, so that no request reaches this machine or the internet.
  if (format === 'uri' || /ur[il]|issuer|origin/.test(name))
    return fc.constantFrom('https://id.invalid', 'http://127.0.0.1:9/x');
  if (name === 'name' || name === 'display_name')
    return fc.oneof(word, knownOfAnyKind, fc.string({ minLength: 1, maxLength: 20 }));
  if (pattern) {
    try {
      return fc.stringMatching(new RegExp(pattern.replace(/^\^?/, '^').replace(/\$?$/, '$')), { size: 'small' });
    } catch {
      return word;
    }
  }
  const text = fc.string({ unit: 'grapheme', minLength: Math.min(minLength, 60), maxLength: Math.min(maxLength, 60) });
  return fc.oneof(word, text, knownOfAnyKind);
}
