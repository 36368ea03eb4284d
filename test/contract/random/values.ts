import fc from 'fast-check';

/** The part of JSON Schema that the API description uses. */
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

/** Generates a placeholder for a value from an earlier answer, of the given kind if there is one; `KnownValues` replaces it. */
export const generateKnown = (kind: string): fc.Arbitrary<string> =>
  fc.nat(999_999).map((randomNumber) => `@known:${kind}:${randomNumber}`);

/** Generates a placeholder for an id, slug or token of any kind. */
export const KNOWN_OF_ANY_KIND = generateKnown('');

/** Values from earlier answers that later requests may name: ids, slugs and tokens, by the word before them in paths. */
export class KnownValues {
  readonly #allValues: string[] = [];
  readonly #valuesByKind = new Map<string, string[]>();

  add(kind: string, ...values: string[]): void {
    const kindValues = this.#valuesByKind.get(kind) ?? [];
    this.#valuesByKind.set(kind, kindValues);
    for (const kindList of [kindValues, this.#allValues]) {
      kindList.push(...values.filter((value) => !kindList.includes(value)));
      // Those of the beginning stay, of later ones the newest.
      if (kindList.length > 200) kindList.splice(20, 80);
    }
  }

  /** Returns the text with every placeholder replaced by a known value. */
  replacePlaceholders(text: string): string {
    return text.replaceAll(/@known:([\w-]*):(\d+)/g, (_, kind, index) => {
      const kindList = this.#valuesByKind.get(kind) ?? this.#allValues;
      return kindList[Number(index) % kindList.length] ?? 'none';
    });
  }
}

const SQL_TEXTS = [
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

/** The range of surrogates, which are no characters by themselves. */
const SURROGATES = { from: 0xd800, count: 0x800 };

/** Generates any Unicode character. The library's own `binary` first lists all of them, which takes a second. */
const ANY_CHARACTER = fc.nat(0x10ffff - SURROGATES.count).map(
  (number) => String.fromCodePoint(number < SURROGATES.from ? number : number + SURROGATES.count),
  (text) => {
    const code = [...String(text)].length === 1 ? (String(text).codePointAt(0) as number) : SURROGATES.from;
    if (code >= SURROGATES.from && code < SURROGATES.from + SURROGATES.count) throw new Error('no character');
    return code < SURROGATES.from ? code : code - SURROGATES.count;
  },
);

/** Generates values that fit no schema. */
export const JUNK_VALUE: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(null, '', ' ', '\u0000', '\ud800', '__proto__', -1, 0, 1.5, 1e308) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(true, [], {}, [[]], { __proto__: 1 }, 2 ** 60, 'ﬀİ', '%_\\'),
  },
  { weight: 2, arbitrary: fc.string({ unit: ANY_CHARACTER, maxLength: 40 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x'.repeat(5_000), 'é'.repeat(300), "'; --", '2026-02-30', '*', '{{x}}', '..'),
  },
  { weight: 1, arbitrary: KNOWN_OF_ANY_KIND },
);

/** Generates values of a schema; with the probability `junkShare`, a part of a value is replaced by junk. */
export function generateValues(
  schema: JsonSchema,
  resolve: (ref: string) => JsonSchema,
  junkShare: number,
  name = '',
  depth = 0,
): fc.Arbitrary<unknown> {
  const generateInner = (memberSchema: JsonSchema, of = name) =>
    generateValues(memberSchema, resolve, junkShare, of, depth + 1);
  const generateValid = (): fc.Arbitrary<unknown> => {
    if (schema.$ref) return generateInner(resolve(schema.$ref));
    if ('const' in schema) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return fc.oneof(...choices.map((choice) => generateInner(choice)));
    if (schema.allOf) {
      const parts = fc.tuple(...schema.allOf.map((memberSchema) => generateInner(memberSchema)));
      return parts.map((values) => Object.assign({}, ...values.filter((value) => typeof value === 'object')));
    }
    const types = [schema.type ?? 'any'].flat();
    return fc.oneof(...types.map((type) => generateOfType(type, schema, generateInner, name, depth)));
  };
  return fc.oneof(
    { weight: Math.round(1 / junkShare), arbitrary: generateValid() },
    { weight: 1, arbitrary: JUNK_VALUE },
  );
}

type InnerGenerator = (memberSchema: JsonSchema, name?: string) => fc.Arbitrary<unknown>;

function generateOfType(
  type: string,
  schema: JsonSchema,
  generateInner: InnerGenerator,
  name: string,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return generateObject(schema, generateInner, depth);
    case 'array': {
      const maxLength = Math.min(schema.maxItems ?? 4, 4);
      const minLength = Math.min(schema.minItems ?? 0, maxLength);
      return depth > 7 ? fc.constant([]) : fc.array(generateInner(schema.items ?? {}), { minLength, maxLength });
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
      return JUNK_VALUE;
  }
}

function generateObject(schema: JsonSchema, generateInner: InnerGenerator, depth: number): fc.Arbitrary<unknown> {
  const members = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required);
  if (members.length === 0) {
    const extraValue =
      typeof schema.additionalProperties === 'object' ? generateInner(schema.additionalProperties) : JUNK_VALUE;
    const keys = fc.constantFrom('regions', 'region', 'days', 'city', 'amount', 'name', '__proto__', 'constructor');
    return depth > 7 ? fc.constant({}) : fc.dictionary(keys, extraValue, { maxKeys: 4 });
  }
  const memberEntries = members.map(([name, part]) =>
    fc
      .option(generateInner(part, name), { nil: undefined, freq: required.has(name) ? 30 : 1 })
      .map((value) => [name, value]),
  );
  return fc
    .tuple(...memberEntries)
    .map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
}

const SOME_WORD = fc.constantFrom(
  'sales',
  'regions',
  'region',
  'acme',
  'orders',
  'north',
  'Analysts',
  'stores',
  'amount',
);

function generateString(
  { format, pattern, minLength = 0, maxLength = 60 }: JsonSchema,
  name: string,
): fc.Arbitrary<unknown> {
  if (/(^|_)(id|ids|Id|token|slug|sort_by|key|type)$|Ids$/.test(name)) {
    return fc.oneof({ weight: 4, arbitrary: KNOWN_OF_ANY_KIND }, { weight: 1, arbitrary: SOME_WORD });
  }
  if (name === 'sql' || name === 'formula' || name === 'filters') return fc.constantFrom(...SQL_TEXTS);
  if (format === 'email') return fc.constantFrom('owner@acme.test', 'ana@acme.test', 'x@y.example');
  if (format === 'date-time')
    return fc.constantFrom('2026-01-31T12:00:00Z', '2026-12-31T23:59:60Z', '0001-01-01T00:00:00Z');
  if (format === 'date') return fc.constantFrom('2026-01-31', '2024-02-29', '9999-12-31');
  // Nobody answers there, so that no request reaches this machine or the internet.
  if (format === 'uri' || /ur[il]|issuer|origin/.test(name))
    return fc.constantFrom('https://id.invalid', 'http://127.0.0.1:9/x');
  if (name === 'name' || name === 'display_name')
    return fc.oneof(SOME_WORD, KNOWN_OF_ANY_KIND, fc.string({ minLength: 1, maxLength: 20 }));
  if (pattern) {
    try {
      return fc.stringMatching(new RegExp(pattern.replace(/^\^?/, '^').replace(/\$?$/, '$')), { size: 'small' });
    } catch {
      return SOME_WORD;
    }
  }
  const text = fc.string({ unit: 'grapheme', minLength: Math.min(minLength, 60), maxLength: Math.min(maxLength, 60) });
  return fc.oneof(SOME_WORD, text, KNOWN_OF_ANY_KIND);
}
