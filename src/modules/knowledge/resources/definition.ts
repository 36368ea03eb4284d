import type { ZodType } from 'zod';
import type { UserActor } from '../../../access/actors.ts';
import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType, Status, ValidationError } from '../../../db/schema/knowledge-resources.ts';
import type { Action } from '../../../kernel/actions.ts';
import type { FieldProblem } from '../../../kernel/failure.ts';

/** What a check found, and whether that is still so. */
export interface Check {
  errors: ValidationError[];
  /** Whether the tables are those that were checked against. */
  holds(): Promise<boolean>;
}

/** That a member names another resource, which must exist in the company. */
export interface Reference {
  field: string;
  id: string;
  type: ResourceType;
  /** The facet it must have: a metric, an entity. */
  facet?: string;
}

/** What one type of resource is. The lifecycle of all types is the same: see `service.ts`. */
export interface Definition<C extends Content = Content> {
  type: ResourceType;
  /** How failures call it: `concept` gives `concept.not_found`. */
  noun: 'concept' | 'semantic_item' | 'ontology_node' | 'ontology_relation';
  /** What creating takes; members that have defaults may be left out. */
  create: ZodType<Partial<C> & { status?: 'draft' | 'active' }>;
  /** What a suggestion may change: any of the members. */
  changes: ZodType<Partial<C> & { status?: 'draft' | 'active' }>;
  /** What people may change: the same, and archive it. */
  patch: ZodType<Partial<C> & { status?: Status }>;
  /** Members that were not sent. */
  defaults: Partial<C>;
  permissions: {
    /** @throws Failure `access.denied` */
    requireCreate(actor: UserActor): void;
    /** @throws Failure `access.denied` */
    requireUpdate(actor: UserActor, id: string): void;
    /** @throws Failure `access.denied` */
    requireDelete(actor: UserActor, id: string): void;
    /** For descriptions of the API. */
    names: readonly [create: Action, update: Action];
  };
  nameOf(content: C): string;
  /** What no two living resources of the type may share. */
  keyOf(content: C): string;
  facetOf(content: C): string;
  /** Texts that a search looks into, the name included. */
  textsOf(content: C): string[];
  /** Nodes that a relation connects. */
  endsOf?(content: C): { subjectId: string; objectId: string };
  referencesOf(content: C): Reference[];
  /** Members that hold ids of the same type and, followed together, must form no cycle. */
  acyclic: readonly (keyof C & string)[];
  /** Rules between members. */
  problemsOf?(content: C): FieldProblem[];
  /** What is wrong with it as the company's tables are now. */
  check?(ctx: CompanyContext, content: C): Promise<Check>;
}

/** A text as searches compare it: whatever its case and its form in Unicode. */
export const searchable = (text: string): string => text.normalize('NFKC').toLowerCase();

/** A name as it is compared: whatever its case, its spaces and its form in Unicode. */
export const normalized = (name: string): string => searchable(name).trim().replaceAll(/\s+/g, ' ');

/** Parts of a key, kept apart by a character that no name holds. */
export const keyFrom = (...parts: string[]): string => parts.map(normalized).join('\n');

/** Every id in a list member, as a reference. */
export const referencesIn = (field: string, ids: readonly string[], type: ResourceType, facet?: string): Reference[] =>
  ids.map((id, index) => ({ field: `${field}.${index}`, id, type, ...(facet !== undefined && { facet }) }));
