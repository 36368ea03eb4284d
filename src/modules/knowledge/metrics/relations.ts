import type { Table } from './expression.ts';

/** A column at one end of a relation. */
interface RelationEnd {
  table: Table;
  column: string;
}

/** A relation, by which a row of one table finds the row of another that it belongs to: `many.column = one.column`. */
export interface Relation {
  manyEnd: RelationEnd;
  oneEnd: RelationEnd;
}

/** A step from one table to another, along a relation or against it. */
interface PathStep {
  fromEnd: RelationEnd;
  toEnd: RelationEnd;
}

/** The path from one table to another: each step finds at most one row. */
export type Path = readonly PathStep[];

/** The reason why there is not exactly one path between two tables. */
export type MissingPath = { reason: 'ambiguous' | 'unreachable' | 'fans_out'; relations: string[] };

export const isPath = (pathOrReason: Path | MissingPath): pathOrReason is Path => Array.isArray(pathOrReason);

const formatRelationEnd = ({ table, column }: RelationEnd): string => `${table.name}.${column}`;
const makeRelationKey = (...ends: RelationEnd[]): string =>
  ends.map(({ table, column }) => `${table.id}.${column}`).join('=');
const isUniqueEnd = ({ table, column }: RelationEnd): boolean => table.uniqueColumns.has(column);

const COLUMN_PATTERN = /^([^.\s=]+)\.([^.\s=]+)$/;
const RELATION_PATTERN = /^([^.\s=]+\.[^.\s=]+)\s*=\s*([^.\s=]+\.[^.\s=]+)$/;

/** A column named in a text, before it is known whether the column exists. */
export interface ColumnName {
  /** The table, by name or id. */
  table: string;
  column: string;
}

/** Parses `table.column`. */
export function parseColumnName(text: string): ColumnName | undefined {
  const [, table, column] = COLUMN_PATTERN.exec(text) ?? [];
  return table === undefined || column === undefined ? undefined : { table, column };
}

/** Parses `table.column = table.column`: the columns on both sides, or none. */
export const parseRelationColumns = (relation: string): ColumnName[] =>
  (RELATION_PATTERN.exec(relation)?.slice(1) ?? []).flatMap((side) => parseColumnName(side) ?? []);

/** Returns the tables that a relation names, by name or id, before it is known whether they exist. */
export const listRelationTables = (relation: string): string[] =>
  parseRelationColumns(relation).map(({ table }) => table);

/** Parses the relations of a company's items, each once. Relations with a table or column that does not exist are left out. */
export function parseRelations(texts: readonly string[], tables: readonly Table[]): Relation[] {
  const tablesByName = new Map(tables.flatMap((table) => [table.id, table.name].map((name) => [name, table])));
  const relations = new Map<string, Relation>();
  for (const text of texts) {
    const [from, to] = parseRelationColumns(text).map(({ table, column }) => findEnd(tablesByName.get(table), column));
    if (from && to && from.table !== to.table) relations.set(makeRelationKey(from, to), { manyEnd: from, oneEnd: to });
  }
  return [...relations.values()];
}

const findEnd = (table: Table | undefined, column: string): RelationEnd | undefined =>
  table?.columns.some(({ name }) => name === column) ? { table, column } : undefined;

/** The relations of a company, as a graph of its tables. */
export class Relations {
  readonly #declaredSteps = new Map<string, PathStep[]>();
  /** Steps along relations, and against one-to-one relations. */
  readonly #singleSteps = new Map<string, PathStep[]>();
  /** Steps along and against all relations. */
  readonly #allSteps = new Map<string, PathStep[]>();
  readonly #foundPaths = new Map<string, Path | MissingPath>();

  constructor(relations: readonly Relation[]) {
    const declaredKeys = new Set(relations.map(({ manyEnd, oneEnd }) => makeRelationKey(manyEnd, oneEnd)));
    for (const { manyEnd, oneEnd } of relations) {
      const forwardStep: PathStep = { fromEnd: manyEnd, toEnd: oneEnd };
      const backwardStep: PathStep = { fromEnd: oneEnd, toEnd: manyEnd };
      addStep(this.#declaredSteps, forwardStep);
      addStep(this.#singleSteps, forwardStep);
      addStep(this.#allSteps, forwardStep);
      addStep(this.#allSteps, backwardStep);
      // Said in the other direction as well, it is a step of its own already.
      if (isUniqueEnd(manyEnd) && isUniqueEnd(oneEnd) && !declaredKeys.has(makeRelationKey(oneEnd, manyEnd)))
        addStep(this.#singleSteps, backwardStep);
    }
  }

  /**
   * Returns the one path from the rows of a table to a row of another, or why there is none. The relations alone decide which
   * path is meant, so that adding or dropping an index never changes it; the indexes decide whether it multiplies rows.
   */
  findPath(from: Table, to: Table): Path | MissingPath {
    const key = `${from.id} ${to.id}`;
    const knownPath = this.#foundPaths.get(key);
    if (knownPath) return knownPath;
    const foundPath = this.#search(from, to);
    this.#foundPaths.set(key, foundPath);
    return foundPath;
  }

  #search(from: Table, to: Table): Path | MissingPath {
    if (from.id === to.id) return [];
    for (const steps of [this.#declaredSteps, this.#singleSteps]) {
      const path = findShortestPath(steps, from, to);
      if (!path) continue;
      const otherPath = findOtherPath(steps, from, to, path);
      if (otherPath) return { reason: 'ambiguous', relations: [path, otherPath].map(formatPath) };
      const multiplyingStep = path.find((step) => !isUniqueEnd(step.toEnd));
      return multiplyingStep ? { reason: 'fans_out', relations: [formatPath([multiplyingStep])] } : path;
    }
    const fanningPath = findShortestPath(this.#allSteps, from, to);
    return fanningPath
      ? { reason: 'fans_out', relations: [formatPath(fanningPath)] }
      : { reason: 'unreachable', relations: [] };
  }
}

const formatPath = (path: Path): string =>
  path.map(({ fromEnd: from, toEnd: to }) => `${formatRelationEnd(from)} = ${formatRelationEnd(to)}`).join(', ');

function addStep(steps: Map<string, PathStep[]>, step: PathStep): void {
  const { id } = step.fromEnd.table;
  const knownSteps = steps.get(id);
  if (knownSteps) knownSteps.push(step);
  else steps.set(id, [step]);
}

/** Finds a shortest path, breadth first. @param excludedStep a step that is not taken */
function findShortestPath(
  steps: ReadonlyMap<string, PathStep[]>,
  from: Table,
  to: Table,
  excludedStep?: PathStep,
): Path | undefined {
  const paths = new Map<string, Path>([[from.id, []]]);
  for (const [id, path] of paths) {
    for (const step of steps.get(id) ?? []) {
      const nextTableId = step.toEnd.table.id;
      if (step === excludedStep || paths.has(nextTableId)) continue;
      if (nextTableId === to.id) return [...path, step];
      paths.set(nextTableId, [...path, step]);
    }
  }
  return undefined;
}

/** Finds a path other than this one: it lacks one of this path's steps. */
function findOtherPath(steps: ReadonlyMap<string, PathStep[]>, from: Table, to: Table, path: Path): Path | undefined {
  for (const step of path) {
    const otherPath = findShortestPath(steps, from, to, step);
    if (otherPath) return otherPath;
  }
  return undefined;
}
