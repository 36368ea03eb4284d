import type { Table } from './expression.ts';

/** A column at one end of a relation. */
interface RelationEnd {
  table: Table;
  column: string;
}

/** A relation, by which a row of one table finds the row of another that it belongs to: `many.column = one.column`. */
export interface Relation {
  many: RelationEnd;
  one: RelationEnd;
}

/** A step from a table to another, along a relation or against it. */
interface Step {
  from: RelationEnd;
  to: RelationEnd;
}

/** The path from one table to another: each step finds at most one row. */
export type Path = readonly Step[];

/** The reason why there is not exactly one path between two tables. */
export type NoPath = { reason: 'ambiguous' | 'unreachable' | 'fans_out'; relations: string[] };

export const isPath = (found: Path | NoPath): found is Path => Array.isArray(found);

const formatEnd = ({ table, column }: RelationEnd): string => `${table.name}.${column}`;
const makeKey = (...ends: RelationEnd[]): string => ends.map(({ table, column }) => `${table.id}.${column}`).join('=');
const isUnique = ({ table, column }: RelationEnd): boolean => table.unique.has(column);

const COLUMN_PATTERN = /^([^.\s=]+)\.([^.\s=]+)$/;
const RELATION_PATTERN = /^([^.\s=]+\.[^.\s=]+)\s*=\s*([^.\s=]+\.[^.\s=]+)$/;

/** A column named in a text, before it is known whether it exists. */
export interface ColumnName {
  /** By name or id. */
  table: string;
  column: string;
}

/** Reads `table.column`. */
export function parseColumnName(text: string): ColumnName | undefined {
  const [, table, column] = COLUMN_PATTERN.exec(text) ?? [];
  return table === undefined || column === undefined ? undefined : { table, column };
}

/** Reads `table.column = table.column`: the columns on both sides, or none. */
export const parseRelationColumns = (relation: string): ColumnName[] =>
  (RELATION_PATTERN.exec(relation)?.slice(1) ?? []).flatMap((side) => parseColumnName(side) ?? []);

/** The tables that a relation names, by name or id, before it is known whether they exist. */
export const listRelationTables = (relation: string): string[] =>
  parseRelationColumns(relation).map(({ table }) => table);

/** The relations of a company's items, each once. Those that name a table or column that does not exist are left out. */
export function parseRelations(texts: readonly string[], tables: readonly Table[]): Relation[] {
  const byName = new Map(tables.flatMap((table) => [table.id, table.name].map((name) => [name, table])));
  const relations = new Map<string, Relation>();
  for (const text of texts) {
    const [from, to] = parseRelationColumns(text).map(({ table, column }) => findEnd(byName.get(table), column));
    if (from && to && from.table !== to.table) relations.set(makeKey(from, to), { many: from, one: to });
  }
  return [...relations.values()];
}

const findEnd = (table: Table | undefined, column: string): RelationEnd | undefined =>
  table?.columns.some(({ name }) => name === column) ? { table, column } : undefined;

/** The relations of a company, as a graph of its tables. */
export class Relations {
  readonly #declared = new Map<string, Step[]>();
  /** Steps along relations, and against those that are one to one. */
  readonly #single = new Map<string, Step[]>();
  /** Steps along and against all relations. */
  readonly #any = new Map<string, Step[]>();
  readonly #found = new Map<string, Path | NoPath>();

  constructor(relations: readonly Relation[]) {
    const said = new Set(relations.map(({ many, one }) => makeKey(many, one)));
    for (const { many, one } of relations) {
      const along: Step = { from: many, to: one };
      const against: Step = { from: one, to: many };
      addStep(this.#declared, along);
      addStep(this.#single, along);
      addStep(this.#any, along);
      addStep(this.#any, against);
      // Said in the other direction as well, it is a step of its own already.
      if (isUnique(many) && isUnique(one) && !said.has(makeKey(one, many))) addStep(this.#single, against);
    }
  }

  /**
   * The one path from the rows of a table to a row of another. The relations alone decide which path is meant, so that adding
   * or dropping an index never changes it; the indexes decide whether it multiplies rows.
   */
  path(from: Table, to: Table): Path | NoPath {
    const key = `${from.id} ${to.id}`;
    const known = this.#found.get(key);
    if (known) return known;
    const found = this.#search(from, to);
    this.#found.set(key, found);
    return found;
  }

  #search(from: Table, to: Table): Path | NoPath {
    if (from.id === to.id) return [];
    for (const steps of [this.#declared, this.#single]) {
      const path = findShortestPath(steps, from, to);
      if (!path) continue;
      const other = findOtherPath(steps, from, to, path);
      if (other) return { reason: 'ambiguous', relations: [path, other].map(formatPath) };
      const multiplies = path.find((step) => !isUnique(step.to));
      return multiplies ? { reason: 'fans_out', relations: [formatPath([multiplies])] } : path;
    }
    const around = findShortestPath(this.#any, from, to);
    return around ? { reason: 'fans_out', relations: [formatPath(around)] } : { reason: 'unreachable', relations: [] };
  }
}

const formatPath = (path: Path): string =>
  path.map(({ from, to }) => `${formatEnd(from)} = ${formatEnd(to)}`).join(', ');

function addStep(steps: Map<string, Step[]>, step: Step): void {
  const { id } = step.from.table;
  const known = steps.get(id);
  if (known) known.push(step);
  else steps.set(id, [step]);
}

/** Finds a shortest path, breadth first. @param without a step that is not taken */
function findShortestPath(
  steps: ReadonlyMap<string, Step[]>,
  from: Table,
  to: Table,
  without?: Step,
): Path | undefined {
  const paths = new Map<string, Path>([[from.id, []]]);
  for (const [id, path] of paths) {
    for (const step of steps.get(id) ?? []) {
      const next = step.to.table.id;
      if (step === without || paths.has(next)) continue;
      if (next === to.id) return [...path, step];
      paths.set(next, [...path, step]);
    }
  }
  return undefined;
}

/** Finds another path than this one: it lacks one of its steps. */
function findOtherPath(steps: ReadonlyMap<string, Step[]>, from: Table, to: Table, path: Path): Path | undefined {
  for (const step of path) {
    const other = findShortestPath(steps, from, to, step);
    if (other) return other;
  }
  return undefined;
}
