/** The input of a client: a running system, and a user of it. */
export interface Given {
  baseUrl: string;
  companySlug: string;
  email: string;
  password: string;
  /** The name of the group that the client creates, different for each client. */
  name: string;
}

/** The CSV file that each client uploads as a table. */
export const CSV = 'city,age\nPorto,34\nLima,27\nOslo,61\nQuito,45\nParis,19\n';
/** The id of a row that the table does not have. */
export const NO_ROW = '00000000-0000-7000-8000-000000000000';
/** The filter with which each client reads rows. */
export const FILTER = JSON.stringify({ age: { gte: 40 } });

/** The results of a client, read by the client's declared types; all clients send the same requests. */
export interface Told {
  /** The error code of a sign-in with a wrong password. */
  refused: string;
  /** The name of the group that the client created. */
  created: string;
  /** The names of the groups that a search for the created group's name lists. */
  listed: string[];
  /** The error code of creating the same group again. */
  taken: string;
  /** The invalid fields of creating an invalid group, with their reasons. */
  problems: string[];
  /** The columns that were inferred from the uploaded file, with their types. */
  columns: string[];
  /** The cities on each page, read by cursor, in the order of `age`. */
  pages: string[][];
  /** The cities of the rows whose `age` is at least 40. */
  filtered: string[];
  /** The error code of reading a row that does not exist. */
  missing: string;
}

/** Makes the group that a client creates. */
export const groupOf = (name: string) => ({ name, slug: name, description: 'Made by a generated client.' });

/** Calls `ask` every 100 ms until it returns an answer. */
export async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

interface Page {
  records: readonly Readonly<Record<string, unknown>>[];
  next_cursor?: string | null;
}

export const citiesOf = ({ records }: Page): string[] => records.map(({ city }) => String(city));

/** Reads all pages of a list by cursor. @returns the cities on each page */
export async function pagesBy(read: (cursor: string) => Promise<Page>): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await read(cursor);
    pages.push(citiesOf(page));
    cursor = page.next_cursor ?? null;
  }
  return pages;
}

/** Formats the problem of a field: its name and the reason. */
export const problemOf = ({ field, reason }: { field: string; reason: string }): string => `${field} ${reason}`;

declare const process: { readonly argv: readonly string[] };

/** Runs a client with the input in the command line, and prints the client's results as JSON. */
export async function run(client: (driverInput: Given) => Promise<Told>): Promise<void> {
  const driverInput: Given = JSON.parse(process.argv[2] ?? '');
  console.log(JSON.stringify(await client(driverInput)));
}
