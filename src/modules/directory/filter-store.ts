import { and, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { DEFAULT_ACCOUNT_JOIN } from '../../access/sources.ts';
import { isNotDenied } from '../../db/denials.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { foldCase, makeEqualsSql, makeNocaseSql } from '../../db/search.ts';
import type { Denials } from '../../permissions/denials.ts';
import { CHANGED_WITH_MEMBERS_AT } from '../groups/service.ts';
import { invalidFilter } from './failures.ts';
import { type AttributePath, type Comparison, type Filter, printAttribute, type Value } from './grammar.ts';
import { isInSchema, isUnstoredAttribute, type ResourceKind, SCHEMA_BY_KIND } from './schemas.ts';

/** The users and groups that are hidden from the caller. */
export interface HiddenRecords {
  users: Denials;
  groups: Denials;
}

/** A single-valued attribute as SQL. Texts are compared ignoring case, except `exact` ones. */
interface SimpleAttribute {
  type: 'text' | 'exact' | 'email' | 'yes-or-no' | 'time';
  is: SQLWrapper;
}

/** A complex attribute with sub-attributes; a comparison with the attribute itself compares its `value`. */
interface ComplexAttribute {
  parts: Readonly<Record<string, SimpleAttribute>>;
  /** Returns the condition that an element meets `condition`; `condition` itself where there is exactly one element. */
  makeSomeCondition(condition: SQL): SQL;
}

type Attribute = SimpleAttribute | ComplexAttribute;

/** Makes an attribute of a constant in the statement's text, not a parameter: D1 allows 100 parameters. */
const makeConstantAttribute = (text: string): SimpleAttribute => ({ type: 'text', is: sql.raw(`'${text}'`) });
const NULL_ATTRIBUTE: SimpleAttribute = { type: 'text', is: sql`null` };

const getMetaAttributes = (kind: ResourceKind, createdAt: SQLWrapper, changedAt: SQLWrapper): ComplexAttribute => ({
  parts: {
    resourcetype: makeConstantAttribute(kind),
    created: { type: 'time', is: createdAt },
    lastmodified: { type: 'time', is: changedAt },
  },
  makeSomeCondition: (condition) => condition,
});

/** Returns the attributes that are stored, by their names in lower case. Others count as empty. */
function getStoredAttributes(
  kind: ResourceKind,
  { users: hiddenUsers, groups: hiddenGroups }: HiddenRecords,
): Readonly<Record<string, Attribute>> {
  if (kind === 'User') {
    const name: SimpleAttribute = { type: 'text', is: users.name };
    const email: SimpleAttribute = { type: 'email', is: users.email };
    return {
      id: { type: 'exact', is: users.id },
      externalid: { type: 'exact', is: users.externalId },
      schemas: makeConstantAttribute(SCHEMA_BY_KIND.User),
      meta: getMetaAttributes(kind, users.createdAt, users.updatedAt),
      username: email,
      displayname: name,
      name: { parts: { formatted: name, value: name }, makeSomeCondition: (condition: SQL) => condition },
      active: { type: 'yes-or-no', is: users.isActive },
      emails: {
        parts: { value: email, type: makeConstantAttribute('work'), primary: { type: 'yes-or-no', is: sql`1` } },
        makeSomeCondition: (condition: SQL) => condition,
      },
      groups: {
        parts: {
          value: { type: 'exact', is: sql`membership.id` },
          display: { type: 'text', is: sql`membership.name` },
          type: makeConstantAttribute('direct'),
        },
        makeSomeCondition: (
          condition: SQL,
        ) => sql`exists (select 1 from ${groups} as membership where membership.id in (
          select ${groupBindings.groupId} from ${groupBindings} ${DEFAULT_ACCOUNT_JOIN} where ${groupBindings.principalType} = 'user'
          and ${groupBindings.principalId} = ${users.id} and ${groupBindings.companyId} = ${users.companyId})
          and ${and(sql`membership.deleted_at is null`, isNotDenied(sql`membership.id`, hiddenGroups), condition)})`,
      },
    };
  }
  return {
    id: { type: 'exact', is: groups.id },
    externalid: { type: 'exact', is: groups.externalId },
    schemas: makeConstantAttribute(SCHEMA_BY_KIND.Group),
    meta: getMetaAttributes(kind, groups.createdAt, CHANGED_WITH_MEMBERS_AT),
    displayname: { type: 'text', is: groups.name },
    members: {
      parts: {
        value: { type: 'exact', is: sql`member.id` },
        display: { type: 'text', is: sql`member.name` },
        type: makeConstantAttribute('User'),
      },
      makeSomeCondition: (condition: SQL) => sql`exists (select 1 from ${users} as member where member.id in (
        select ${groupBindings.principalId} from ${groupBindings} ${DEFAULT_ACCOUNT_JOIN} where ${groupBindings.principalType} = 'user'
        and ${groupBindings.groupId} = ${groups.id} and ${groupBindings.companyId} = ${groups.companyId})
        and ${and(sql`member.deleted_at is null`, isNotDenied(sql`member.id`, hiddenUsers), condition)})`,
    },
  };
}

/**
 * Returns the SQL condition of a filter: true or false, and never null. @param isAnyKind whether records of both kinds are
 * searched: an attribute that a kind does not have is empty there @throws invalidFilter
 */
export function compileFilter(
  filter: Filter,
  kind: ResourceKind,
  hiddenRecords: HiddenRecords,
  isAnyKind = false,
): SQL {
  const storedAttributes = getStoredAttributes(kind, hiddenRecords);

  const findAttribute = ({ name, ...path }: AttributePath): Attribute => {
    const key = name.toLowerCase();
    if (isInSchema(path.schema, kind) && Object.hasOwn(storedAttributes, key))
      return storedAttributes[key] as Attribute;
    if (isAnyKind || isUnstoredAttribute(kind, path.schema, key)) return NULL_ATTRIBUTE;
    throw invalidFilter(`names ${printAttribute({ name, ...path })}, which is no attribute of a ${kind}`);
  };

  /**
   * Makes the SQL of a comparison from that of the compared attribute.
   * @param outerAttribute the complex attribute whose value path contains the comparison
   */
  const makeComparison = (
    path: AttributePath,
    outerAttribute: ComplexAttribute | undefined,
    makeSingleCondition: (simpleAttribute: SimpleAttribute) => SQL,
  ): SQL => {
    if (outerAttribute) return makeSingleCondition(findSubAttribute(outerAttribute, path.name));
    const attribute = findAttribute(path);
    if (!('parts' in attribute)) return makeSingleCondition(path.sub === undefined ? attribute : NULL_ATTRIBUTE);
    return attribute.makeSomeCondition(makeSingleCondition(findSubAttribute(attribute, path.sub ?? 'value')));
  };

  const maxLetters =
    'filter' in filter || 'filters' in filter || 'parts' in findAttribute(filter.path) ? MAX_FOLDED_LETTERS : undefined;
  const makeCondition = (partFilter: Filter, outerAttribute?: ComplexAttribute): SQL => {
    switch (partFilter.op) {
      case 'and':
      case 'or': {
        const conditions = partFilter.filters.map((operand) => makeCondition(operand, outerAttribute));
        return (partFilter.op === 'and' ? and(...conditions) : or(...conditions)) as SQL;
      }
      case 'not':
        return sql`not (${makeCondition(partFilter.filter, outerAttribute)})`;
      case 'has': {
        const attribute = findAttribute(partFilter.path);
        return 'parts' in attribute ? attribute.makeSomeCondition(makeCondition(partFilter.filter, attribute)) : sql`0`;
      }
      case 'pr':
        return isComplexAttribute(partFilter.path, outerAttribute)
          ? (findAttribute(partFilter.path) as ComplexAttribute).makeSomeCondition(sql`1`)
          : makeComparison(partFilter.path, outerAttribute, ({ is }) => sql`(${is} is not null and ${is} <> '')`);
      default:
        return makeComparison(partFilter.path, outerAttribute, (simpleAttribute) =>
          makeComparisonSql(simpleAttribute, partFilter.op, partFilter.value, maxLetters),
        );
    }
  };
  const isComplexAttribute = (path: AttributePath, outerAttribute?: ComplexAttribute): boolean =>
    outerAttribute === undefined && path.sub === undefined && 'parts' in findAttribute(path);
  const fullCondition = makeCondition(filter);
  if (new SQLiteAsyncDialect().sqlToQuery(fullCondition).params.length > MAX_CONDITION_PARAMETERS)
    throw invalidFilter('compares too many values of groups or members');
  return fullCondition;
}

/** The maximum number of parameters of a condition: a list uses it three times, and has parameters of its own; D1 takes 100. */
const MAX_CONDITION_PARAMETERS = 24;

const findSubAttribute = ({ parts }: ComplexAttribute, name: string): SimpleAttribute => {
  const key = name.toLowerCase();
  return Object.hasOwn(parts, key) ? (parts[key] as SimpleAttribute) : NULL_ATTRIBUTE;
};

const ORDER_OPERATORS = { gt: sql`>`, ge: sql`>=`, lt: sql`<`, le: sql`<=` } as const;

function makeComparisonSql({ type, is }: SimpleAttribute, op: Comparison, value: Value, maxLetters?: number): SQL {
  if (value === null) {
    if (op !== 'eq' && op !== 'ne') throw invalidFilter(`compares null by ${op}`);
    return op === 'eq' ? sql`(${is} is null)` : sql`(${is} is not null)`;
  }
  const storedValue = toStoredValue(type, value);
  if (op === 'ne') return sql`not ${makeComparisonSql({ type, is }, 'eq', value, maxLetters)}`;
  if (op === 'eq') {
    const isEqual = type === 'text' ? makeEqualsSql(is, String(storedValue), maxLetters) : sql`${is} = ${storedValue}`;
    return sql`(${is} is not null and ${isEqual})`;
  }
  if (op in ORDER_OPERATORS) {
    if (type === 'yes-or-no') throw invalidFilter(`orders true and false by ${op}`);
    const foldedSql = type === 'text' ? makeNocaseSql(is) : is;
    return sql`(${is} is not null and ${foldedSql} ${ORDER_OPERATORS[op as keyof typeof ORDER_OPERATORS]} ${storedValue})`;
  }
  if (typeof storedValue !== 'string') throw invalidFilter(`looks for a part of what is no text by ${op}`);
  return sql`(${is} is not null and ${makePartComparisonSql(op as 'co' | 'sw' | 'ew', { type, is }, storedValue, maxLetters)})`;
}

/**
 * The maximum number of letters beyond ASCII whose case is ignored in a comparison that is not the whole filter, or compares
 * sub-attributes: the database limits the depth of a statement.
 */
const MAX_FOLDED_LETTERS = 10;

function makePartComparisonSql(
  op: 'co' | 'sw' | 'ew',
  { type, is }: SimpleAttribute,
  searchedText: string,
  maxLetters?: number,
): SQL {
  const { wanted, lower } =
    type === 'exact' ? { wanted: searchedText, lower: (text: SQLWrapper) => text } : foldCase(searchedText, maxLetters);
  if (op === 'co') return sql`instr(${lower(is)}, ${wanted}) > 0`;
  const length = [...wanted].length;
  if (length === 0) return sql`1`;
  return sql`substr(${lower(is)}, ${op === 'sw' ? sql.raw(`1, ${length}`) : sql.raw(`-${length}`)}) = ${wanted}`;
}

/** Returns the form in which the database stores a value for an attribute of this type. */
function toStoredValue(type: SimpleAttribute['type'], value: Exclude<Value, null>): string | number {
  if (type === 'yes-or-no') {
    const booleanText = typeof value === 'string' ? value.toLowerCase() : String(value);
    if (booleanText !== 'true' && booleanText !== 'false')
      throw invalidFilter('compares true and false with something else');
    return booleanText === 'true' ? 1 : 0;
  }
  if (typeof value !== 'string') throw invalidFilter('compares a text with something else');
  if (type !== 'time') return type === 'email' ? value.toLowerCase() : value;
  const time = /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/i.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw invalidFilter('compares a time with something else');
  return time;
}
