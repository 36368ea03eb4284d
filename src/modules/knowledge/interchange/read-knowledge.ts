import { LIST_NAMES, type ListName } from './document.ts';
import { importUnreadable } from './failures.ts';

/** The maximum number of entries that a document may have. */
export const MAX_ENTRIES = 5000;
/** The maximum number of errors that are reported. */
export const MAX_ERRORS = 1000;

export const makeTooManyEntriesFailure = () => importUnreadable(`it has more than ${MAX_ENTRIES} entries`);

/** An entry of a document, before it is validated. */
export interface UncheckedEntry {
  listName: ListName;
  value: unknown;
  /** The line where the entry begins, from 1. */
  line: number;
}

/** A problem with an entry or a document, at its line. */
export interface ImportProblem {
  line: number;
  /** The names of the entry and the field, as far as they are known. */
  place: string[];
  /** The English sentence of the problem. */
  problem: string;
}

export interface ParsedDocument {
  /** The kind of document, as reviewers read it: `a semantic model`. */
  source: string;
  foundEntries: UncheckedEntry[];
  errors: ImportProblem[];
}

/** A value of a document, with the lines where its parts begin. */
export interface LocatedValue {
  value: unknown;
  /** Returns the line of the part at this path; of the whole value, where that is not known. */
  findLine(...path: (string | number)[]): number;
}

/** Reads a document of the form that `GET /export` returns. */
export function readKnowledge({ value, findLine }: LocatedValue): ParsedDocument {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw importUnreadable('it must be an object of lists', 1);
  }
  const errors: ImportProblem[] = Object.keys(value)
    .filter((name) => name !== 'format' && !LIST_NAMES.includes(name as ListName))
    .slice(0, 20)
    .map((name) => ({ line: findLine(name), place: [name.slice(0, 80)], problem: 'is not a field of the document' }));
  const foundEntries: UncheckedEntry[] = [];
  for (const list of LIST_NAMES) {
    const entries = (value as Record<string, unknown>)[list];
    if (entries === undefined) continue;
    if (!Array.isArray(entries)) errors.push({ line: findLine(list), place: [list], problem: 'must be a list' });
    else
      for (const [index, entry] of entries.entries())
        foundEntries.push({ listName: list, value: entry, line: findLine(list, index) });
  }
  return { source: 'a document', foundEntries, errors };
}
