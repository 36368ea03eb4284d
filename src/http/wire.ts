import type { z } from 'zod';
import { isoTimestamp } from '../kernel/fields.ts';

/** `snake_case` in `camelCase`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** The name in the code of a field of the wire: in camel case, but for the names that differ. */
type Property<Name extends string> = Name extends keyof typeof OTHER_NAMES ? (typeof OTHER_NAMES)[Name] : Camel<Name>;

const OTHER_NAMES = { _id: 'id', organization_id: 'companyId' } as const;

/** The suffix of the names of fields that hold a time. The control database stores milliseconds since the epoch. */
const TIME_SUFFIX = '_at';
type Value<Name extends string, Shown> = Name extends `${string}${typeof TIME_SUFFIX}` ? Shown | number : Shown;

/** A record in the code, by the schema of its answer: each time may be a number. */
type RecordOf<Shown> = {
  [Name in keyof Shown as Name extends string ? Property<Name> : never]: Name extends string
    ? Value<Name, Shown[Name]>
    : never;
};

const toCamelCase = (name: string): string =>
  Object.hasOwn(OTHER_NAMES, name)
    ? OTHER_NAMES[name as keyof typeof OTHER_NAMES]
    : name.replaceAll(/(?<=.)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A record as its schema says: snake case, times as ISO 8601, without undefined members and those of no schema. */
export function viewBy<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).map((name) => [name, toCamelCase(name), name.endsWith(TIME_SUFFIX)] as const);
  return (record: RecordOf<z.input<Schema>>): z.input<Schema> => {
    const shown: { [name: string]: unknown } = {};
    for (const [name, property, isTime] of names) {
      const value = record[property as keyof typeof record];
      if (value !== undefined) shown[name] = isTime && typeof value === 'number' ? isoTimestamp(value) : value;
    }
    return shown as z.input<Schema>;
  };
}

/** The fields of a body, under the code's names. */
type BodyFields<Input> = { [Name in keyof Input as Name extends string ? Property<Name> : never]: Input[Name] };

/** Reads a body's fields into the code's names: for `transform`. Fields that were not sent stay absent. */
export const toBodyFields = <Input extends object>(input: Input): BodyFields<Input> =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [toCamelCase(name), value])) as BodyFields<Input>;
