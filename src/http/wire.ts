import type { z } from 'zod';
import { formatIsoTimestamp } from '../kernel/fields.ts';

/** Converts a name in snake case to camel case. */
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** Name in the code of a wire field: in camel case, except for the names in `DIFFERING_NAMES`. */
type CodeName<Name extends string> = Name extends keyof typeof DIFFERING_NAMES
  ? (typeof DIFFERING_NAMES)[Name]
  : CamelCase<Name>;

const DIFFERING_NAMES = { _id: 'id', organization_id: 'companyId' } as const;

/** Suffix of the names of fields that hold a time. The control database stores milliseconds since the epoch. */
const TIME_SUFFIX = '_at';
type CodeValue<Name extends string, Shown> = Name extends `${string}${typeof TIME_SUFFIX}`
  ? Shown | number
  : DeepReadonly<Shown>;
type DeepReadonly<Value> = unknown extends Value ? Value : { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> };

/** Type of a record inside the service, by the type of its answer: names in camel case, and times also as milliseconds. */
type RecordOf<Shown> = {
  [Name in keyof Shown as Name extends string ? CodeName<Name> : never]: Name extends string
    ? CodeValue<Name, Shown[Name]>
    : never;
};

const toCamelCase = (name: string): string =>
  Object.hasOwn(DIFFERING_NAMES, name)
    ? DIFFERING_NAMES[name as keyof typeof DIFFERING_NAMES]
    : name.replaceAll(/(?<=.)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Makes a function that shows a record by its schema: snake case, times as ISO 8601, no undefined or undeclared members. */
export function makeView<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).map((name) => [name, toCamelCase(name), name.endsWith(TIME_SUFFIX)] as const);
  return (record: RecordOf<z.input<Schema>>): z.input<Schema> => {
    const shownRecord: { [name: string]: unknown } = {};
    for (const [name, property, isTime] of names) {
      const value = record[property as keyof typeof record];
      if (value !== undefined)
        shownRecord[name] = isTime && typeof value === 'number' ? formatIsoTimestamp(value) : value;
    }
    return shownRecord as z.input<Schema>;
  };
}

/** Fields of a body, under the code's names. */
type BodyFields<Input> = { [Name in keyof Input as Name extends string ? CodeName<Name> : never]: Input[Name] };

/** Converts a body's fields to the code's names, for `transform` of zod. Fields that were not sent stay absent. */
export const toBodyFields = <Input extends object>(input: Input): BodyFields<Input> =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [toCamelCase(name), value])) as BodyFields<Input>;
