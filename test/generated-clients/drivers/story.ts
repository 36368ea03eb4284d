/** What a client is given. */
export interface Given {
  baseUrl: string;
  companySlug: string;
  email: string;
  password: string;
  /** Of what it makes: another for each client. */
  name: string;
}

/** The table that each client uploads, a row that it has not, and what it asks of it. */
export const CSV = 'city,age\nPorto,34\nLima,27\nOslo,61\nQuito,45\nParis,19\n';
export const NO_ROW = '00000000-0000-7000-8000-000000000000';
export const FILTER = JSON.stringify({ age: { gte: 40 } });

/** What a client saw by doing the same as the others, read by its declared types. */
export interface Told {
  /** The code of a sign-in with a wrong password. */
  refused: string;
  /** The group that it created, and the groups that a search for its name lists. */
  created: string;
  listed: string[];
  /** The code of the same group again, and the fields of one that is wrong, with their reasons. */
  taken: string;
  problems: string[];
  /** The columns that were inferred of the uploaded file, with their types. */
  columns: string[];
  /** Cities page by page, by cursor, in the order of their ages. */
  pages: string[][];
  /** Cities of those who are at least 40. */
  filtered: string[];
  /** The code of a row that is not there. */
  missing: string;
}

/** The group that each client creates. */
export const groupOf = (name: string) => ({ name, slug: name, description: 'Made by a generated client.' });

/** Asks again until there is an answer. */
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

/** Cities page by page, until no other page follows. */
export async function pagesBy(read: (cursor: string) => Promise<Page>): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await read(cursor);
    pages.push(citiesOf(page));
    cursor = page.next_cursor ?? null;
  }
  return pages;
}

/** A field that is wrong, and why. */
export const problemOf = ({ field, reason }: { field: string; reason: string }): string => `${field} ${reason}`;

declare const process: { readonly argv: readonly string[] };

/** Runs a client on what the command line gives it, and writes what it told. */
export async function run(client: (given: Given) => Promise<Told>): Promise<void> {
  const given: Given = JSON.parse(process.argv[2] ?? '');
  console.log(JSON.stringify(await client(given)));
}
