/** Converts a name in camel case to snake case. */
type SnakeCase<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Uppercase<Letter> ? '_' : ''}${Lowercase<Letter>}${SnakeCase<Rest>}`
  : '';

/** The row of a record: its members under the names of the columns. */
export type RowOf<T> = { [Name in keyof T & string as SnakeCase<Name>]: T[Name] };

/** Converts a row to a record: columns get the names of members. */
export const toRecord = <T>(row: RowOf<T>): T =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as T;
