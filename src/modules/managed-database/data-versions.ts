import { ALL_TABLES, type DatabaseRow, type OpenChange } from './store.ts';

/** The columns that hold the versions of a company's tables. */
export type DataState = Pick<
  DatabaseRow,
  'dataVersion' | 'notedVersion' | 'changedTables' | 'openChanges' | 'dataChanges' | 'dataChangesUntil'
>;

/** The source of a result: the tables that it was read from, and the version of the company's data before that. */
export interface ResultSource {
  tables: readonly string[];
  version: number;
}

/** The value for all tables: the tables of a result where they are not known. */
export const UNKNOWN_TABLES: readonly string[] = [ALL_TABLES];

/** The versions of a company's tables, as they were when its row was read. */
export class DataVersions {
  /** The version of the data, which differs after each change of any table. */
  readonly version: number;
  readonly #changeVersions: Readonly<Record<string, number>>;
  readonly #changingTables: ReadonlySet<string>;

  constructor(row: DataState, now: number) {
    this.version = row.dataVersion;
    const openChanges = Object.values(JSON.parse(row.openChanges) as Record<string, OpenChange>);
    const changingTables = new Set(openChanges.filter(({ until }) => until > now).flatMap(({ tables }) => tables));
    this.#changeVersions = JSON.parse(row.changedTables);
    if (row.dataVersion !== row.notedVersion) {
      // The version before this one has changed something since, and does not say which table.
      this.#changeVersions = { [ALL_TABLES]: row.dataVersion };
      if (row.dataChanges > 0 && row.dataChangesUntil > now) changingTables.add(ALL_TABLES);
    }
    this.#changingTables = changingTables;
  }

  /** Whether no change of any table is running. */
  get isSettled(): boolean {
    return this.#changingTables.size === 0;
  }

  /** Returns the source for a result of these tables that is read from now on; null while one of them is being changed. */
  readVersions(tables: readonly string[]): ResultSource | null {
    return this.#areSettled(tables) ? { tables, version: this.version } : null;
  }

  /** Tells whether a result still shows the current rows of its tables. */
  isCurrent({ tables, version }: ResultSource): boolean {
    return this.#areSettled(tables) && this.#findLastChange(tables) <= version;
  }

  #areSettled(tables: readonly string[]): boolean {
    if (this.isSettled) return true;
    if (tables.includes(ALL_TABLES) || this.#changingTables.has(ALL_TABLES)) return false;
    return !tables.some((table) => this.#changingTables.has(table));
  }

  #findLastChange(tables: readonly string[]): number {
    if (tables.includes(ALL_TABLES)) return this.version;
    const versions = [ALL_TABLES, ...tables].map((table) =>
      Object.hasOwn(this.#changeVersions, table) ? (this.#changeVersions[table] as number) : 0,
    );
    return Math.max(...versions);
  }
}
