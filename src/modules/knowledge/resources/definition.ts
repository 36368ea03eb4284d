import type { ZodType } from 'zod';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import type { Content, ResourceType, Status, ValidationError } from '../../../db/schema/knowledge-resources.ts';
import type { FieldProblem } from '../../../kernel/failure.ts';
import { limitCombiningMarks } from '../../../kernel/text.ts';
import type { Action, ResourceType as ArnType } from '../../../permissions/actions.ts';
import type { JobMessage } from '../../../platform/job-messages.ts';
import type { ResourceFailures } from './failures.ts';
import type { Resource } from './reading.ts';
import type { WriteCondition } from './store.ts';

/** The result of a check against the company's tables. */
export interface CheckResult {
  errors: ValidationError[];
  /** Tells whether the tables are still as they were when checked. */
  isCurrent(): Promise<boolean>;
  /** The ids and names of tables to check later, as they could not be read now. */
  uncheckedTables?: string[];
}

/** The message that starts another check after a write. */
export interface RecheckMessage {
  message: JobMessage;
  /** SQL condition that there is anything to check. */
  condition?: WriteCondition;
  delaySeconds?: number;
}

/** A field's reference to another resource, which must exist in the company. */
export interface Reference {
  field: string;
  id: string;
  type: ResourceType;
  /** The facet that the resource must have, such as metric or entity. */
  facet?: string;
}

/** The definition of a type of resource: everything that differs between types. Their common behaviour is in `lifecycle.ts`. */
export interface ResourceDefinition<C extends Content = Content> {
  type: ResourceType;
  failures: ResourceFailures;
  /** The schema of the body that creates a resource; fields with defaults may be left out. */
  createSchema: ZodType<Partial<C> & { status?: 'draft' | 'active' }>;
  /** The schema of the fields that a suggestion may change. */
  changesSchema: ZodType<Partial<C> & { status?: 'draft' | 'active' }>;
  /** The schema of the fields that people may change: those of a suggestion, and the status `archived`. */
  patchSchema: ZodType<Partial<C> & { status?: Status }>;
  /** The values of fields that were not sent. */
  defaults: Partial<C>;
  /** The actions of the permission catalogue. */
  actions: Record<'list' | 'create' | 'get' | 'update' | 'archive', Action>;
  /** The type in the ARNs of the actions, where their service has several types. */
  arnType?: ArnType;
  getName(content: C): string;
  /** Returns the key that must be unique among the resources of the type, not counting archived ones. */
  makeUniqueKey(content: C): string;
  /**
   * Returns the value by which lists filter in addition to the status: the type of a concept or node, the kind of a semantic
   * item, the predicate of a relation.
   */
  getFacet(content: C): string;
  /** Returns the texts that `search` finds, including the name. */
  listTexts(content: C): string[];
  /** Returns the nodes that a relation connects. */
  getEnds?(content: C): { subjectId: string; objectId: string };
  listReferences(content: C): Reference[];
  /** The fields with ids of the same type that, followed together, must form no cycle. */
  acyclicFields: readonly (keyof C & string)[];
  /** Returns the violated rules between fields. */
  findProblems?(content: C): FieldProblem[];
  /** Checks the content against the current tables of the company. */
  check?(ctx: CompanyContext, content: C): Promise<CheckResult>;
  /**
   * Checks a change that other resources may rely on, such as a change of an item's kind. @returns what must hold at its write
   * @throws the reason why the change is refused
   */
  beforeChange?(ctx: PrincipalContext, currentResource: Resource<C>, content: C): Promise<WriteCondition | undefined>;
  /** Returns the message, sent after each write, that checks the resources depending on this one. */
  recheck?(companyId: string, check: CheckResult | undefined): RecheckMessage;
}

/** Returns the fields whose values differ from the content. */
export const findChangedFields = (content: Content, fields: Content): Content =>
  Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(content[field])),
  );

/** Returns a text in the form that searches compare: in lower case and one form of Unicode. */
export const toSearchText = (text: string): string => limitCombiningMarks(text).normalize('NFKC').toLowerCase();

/** Returns a name in the form for comparison: the text of `toSearchText`, with single spaces. */
export const normalizeName = (name: string): string => toSearchText(name).trim().replaceAll(/\s+/g, ' ');

/** Returns a key of several parts, joined by a character that no name contains. */
export const joinUniqueKey = (...parts: string[]): string => parts.map(normalizeName).join('\n');

/** Returns a reference for each id of a list. */
export const toReferences = (field: string, ids: readonly string[], type: ResourceType, facet?: string): Reference[] =>
  ids.map((id, index) => ({ field: `${field}.${index}`, id, type, ...(facet !== undefined && { facet }) }));
