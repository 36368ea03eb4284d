import type { ZodType } from 'zod';
import type { Principal } from '../../../access/actors.ts';
import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType, Status, ValidationError } from '../../../db/schema/knowledge-resources.ts';
import type { FieldProblem } from '../../../kernel/failure.ts';
import { limitMarks } from '../../../kernel/text.ts';
import type { JobMessage } from '../../../platform/job-messages.ts';
import type { ResourceFailures } from './failures.ts';
import type { Resource } from './reading.ts';
import type { WriteCondition } from './store.ts';

/** The result of a check against the company's tables. */
export interface Check {
  errors: ValidationError[];
  /** Whether the tables are still as they were checked. */
  isCurrent(): Promise<boolean>;
  /** The ids and names of tables to check later, as they could not be read now. */
  later?: string[];
}

/** The message that starts another check after a write. */
export interface Recheck {
  message: JobMessage;
  /** SQL condition: true if there is anything to check. */
  when?: WriteCondition;
  delaySeconds?: number;
}

/** A field's reference to another resource, which must exist in the company. */
export interface Reference {
  field: string;
  id: string;
  type: ResourceType;
  /** The facet that the resource must have: a metric, an entity. */
  facet?: string;
}

/** The definition of a type of resource: all that differs between types. Their common behaviour is in `lifecycle.ts`. */
export interface Definition<C extends Content = Content> {
  type: ResourceType;
  failures: ResourceFailures;
  /** The body that creates one; fields that have defaults may be left out. */
  create: ZodType<Partial<C> & { status?: 'draft' | 'active' }>;
  /** The fields that a suggestion may change. */
  changes: ZodType<Partial<C> & { status?: 'draft' | 'active' }>;
  /** The fields that people may change: as above, and the status `archived`. */
  patch: ZodType<Partial<C> & { status?: Status }>;
  /** Values of fields that were not sent. */
  defaults: Partial<C>;
  permissions: {
    requireCreate(actor: Principal): void;
    requireUpdate(actor: Principal, id: string): void;
    requireDelete(actor: Principal, id: string): void;
  };
  getName(content: C): string;
  /** The key that must be unique among the resources of the type, archived ones aside. */
  makeUniqueKey(content: C): string;
  /**
   * The value by which lists filter besides the status: the type of a concept or node, the kind of a semantic item, the
   * predicate of a relation.
   */
  getFacet(content: C): string;
  /** The texts that `search` finds, the name included. */
  listTexts(content: C): string[];
  /** The nodes that a relation connects. */
  getEnds?(content: C): { subjectId: string; objectId: string };
  listReferences(content: C): Reference[];
  /** Fields that hold ids of the same type and, followed together, must form no cycle. */
  acyclic: readonly (keyof C & string)[];
  /** Violated rules between fields. */
  findProblems?(content: C): FieldProblem[];
  /** Checks the content against the current tables of the company. */
  check?(ctx: CompanyContext, content: C): Promise<Check>;
  /**
   * Checks a change that others may rely on, such as one of the kind of an item. @returns what must hold at its write
   * @throws the reason why the change is refused
   */
  beforeChange?(ctx: CompanyContext, current: Resource<C>, content: C): Promise<WriteCondition | undefined>;
  /** The message after each write that checks whatever depends on the resource. */
  recheck?(companyId: string, check: Check | undefined): Recheck;
}

/** The fields whose values differ from those of the content. */
export const findChangedFields = (content: Content, fields: Content): Content =>
  Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(content[field])),
  );

/** A text as searches compare it: in lower case and one form of Unicode. */
export const toSearchText = (text: string): string => limitMarks(text).normalize('NFKC').toLowerCase();

/** A name as it is compared: the text of `toSearchText`, with single spaces. */
export const normalizeName = (name: string): string => toSearchText(name).trim().replaceAll(/\s+/g, ' ');

/** A key of several parts, joined by a character that no name holds. */
export const uniqueKeyFrom = (...parts: string[]): string => parts.map(normalizeName).join('\n');

/** A reference for each id of a list. */
export const toReferences = (field: string, ids: readonly string[], type: ResourceType, facet?: string): Reference[] =>
  ids.map((id, index) => ({ field: `${field}.${index}`, id, type, ...(facet !== undefined && { facet }) }));
