import { and, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import { joinDefaultAccount } from '../../access/sources.ts';
import { isNotDenied } from '../../db/denials.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { users } from '../../db/schema/users.ts';
import { equalsInAnyCase, foldCase, ignoreCase } from '../../db/search.ts';
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

/** An attribute with one value, as SQL. Texts are compared in any case, except `exact` ones. */
interface SimpleAttribute {
  type: 'text' | 'exact' | 'email' | 'yes-or-no' | 'time';
  is: SQLWrapper;
}

/** An attribute with parts; a comparison with the attribute itself is one with its `value`. */
interface ComplexAttribute {
  parts: Readonly<Record<string, SimpleAttribute>>;
  /** A condition for records with an element that meets `condition`; `condition` itself where there is exactly one element. */
  some(condition: SQL): SQL;
}

type Attribute = SimpleAttribute | ComplexAttribute;

/** A constant in the text of the statement, not a parameter: D1 takes 100 parameters. */
const makeConstant = (text: string): SimpleAttribute => ({ type: 'text', is: sql.raw(`'${text}'`) });
const NULL_ATTRIBUTE: SimpleAttribute = { type: 'text', is: sql`null` };

const getMetaAttributes = (kind: ResourceKind, createdAt: SQLWrapper, changedAt: SQLWrapper): ComplexAttribute => ({
  parts: {
    resourcetype: makeConstant(kind),
    created: { type: 'time', is: createdAt },
    lastmodified: { type: 'time', is: changedAt },
  },
  some: (condition) => condition,
});

/** The attributes that are kept, by their names in lower case. Others count as empty. */
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
      schemas: makeConstant(SCHEMA_BY_KIND.User),
      meta: getMetaAttributes(kind, users.createdAt, users.updatedAt),
      username: email,
      displayname: name,
      name: { parts: { formatted: name, value: name }, some: (condition: SQL) => condition },
      active: { type: 'yes-or-no', is: users.isActive },
      emails: {
        parts: { value: email, type: makeConstant('work'), primary: { type: 'yes-or-no', is: sql`1` } },
        some: (condition: SQL) => condition,
      },
      groups: {
        parts: {
          value: { type: 'exact', is: sql`membership.id` },
          display: { type: 'text', is: sql`membership.name` },
          type: makeConstant('direct'),
        },
        some: (condition: SQL) => sql`exists (select 1 from ${groups} as membership where membership.id in (
          select ${groupBindings.groupId} from ${groupBindings} ${joinDefaultAccount} where ${groupBindings.principalType} = 'user'
          and ${groupBindings.principalId} = ${users.id} and ${groupBindings.companyId} = ${users.companyId})
          and ${and(sql`membership.deleted_at is null`, isNotDenied(sql`membership.id`, hiddenGroups), condition)})`,
      },
    };
  }
  return {
    id: { type: 'exact', is: groups.id },
    externalid: { type: 'exact', is: groups.externalId },
    schemas: makeConstant(SCHEMA_BY_KIND.Group),
    meta: getMetaAttributes(kind, groups.createdAt, CHANGED_WITH_MEMBERS_AT),
    displayname: { type: 'text', is: groups.name },
    members: {
      parts: {
        value: { type: 'exact', is: sql`member.id` },
        display: { type: 'text', is: sql`member.name` },
        type: makeConstant('User'),
      },
      some: (condition: SQL) => sql`exists (select 1 from ${users} as member where member.id in (
        select ${groupBindings.principalId} from ${groupBindings} ${joinDefaultAccount} where ${groupBindings.principalType} = 'user'
        and ${groupBindings.groupId} = ${groups.id} and ${groupBindings.companyId} = ${groups.companyId})
        and ${and(sql`member.deleted_at is null`, isNotDenied(sql`member.id`, hiddenUsers), condition)})`,
    },
  };
}

/**
 * The SQL condition of a filter: true or false, and never null.
 * @param anyKind whether records of both kinds are searched: an attribute that a kind does not have is empty there
 * @throws invalidFilter
 */
export function compileFilter(filter: Filter, kind: ResourceKind, hidden: HiddenRecords, anyKind = false): SQL {
  const kept = getStoredAttributes(kind, hidden);

  const findAttribute = ({ name, ...path }: AttributePath): Attribute => {
    const key = name.toLowerCase();
    if (isInSchema(path.schema, kind) && Object.hasOwn(kept, key)) return kept[key] as Attribute;
    if (anyKind || isUnstoredAttribute(kind, path.schema, key)) return NULL_ATTRIBUTE;
    throw invalidFilter(`names ${printAttribute({ name, ...path })}, which is no attribute of a ${kind}`);
  };

  /** @param within the attribute whose value path the comparison stands in */
  const compare = (
    path: AttributePath,
    within: ComplexAttribute | undefined,
    of: (single: SimpleAttribute) => SQL,
  ): SQL => {
    if (within) return of(findPart(within, path.name));
    const attribute = findAttribute(path);
    if (!('parts' in attribute)) return of(path.sub === undefined ? attribute : NULL_ATTRIBUTE);
    return attribute.some(of(findPart(attribute, path.sub ?? 'value')));
  };

  const mostLetters = 'of' in filter || 'parts' in findAttribute(filter.path) ? MAX_LETTERS : undefined;
  const condition = (each: Filter, within?: ComplexAttribute): SQL => {
    switch (each.op) {
      case 'and':
      case 'or': {
        const all = each.of.map((one) => condition(one, within));
        return (each.op === 'and' ? and(...all) : or(...all)) as SQL;
      }
      case 'not':
        return sql`not (${condition(each.of, within)})`;
      case 'has': {
        const attribute = findAttribute(each.path);
        return 'parts' in attribute ? attribute.some(condition(each.of, attribute)) : sql`0`;
      }
      case 'pr':
        return isComplexItself(each.path, within)
          ? (findAttribute(each.path) as ComplexAttribute).some(sql`1`)
          : compare(each.path, within, ({ is }) => sql`(${is} is not null and ${is} <> '')`);
      default:
        return compare(each.path, within, (single) => compareSql(single, each.op, each.value, mostLetters));
    }
  };
  const isComplexItself = (path: AttributePath, within?: ComplexAttribute): boolean =>
    within === undefined && path.sub === undefined && 'parts' in findAttribute(path);
  const whole = condition(filter);
  if (new SQLiteAsyncDialect().sqlToQuery(whole).params.length > MAX_PARAMETERS)
    throw invalidFilter('compares too many values of groups or members');
  return whole;
}

/** The maximum number of parameters of a condition: a list uses it three times, and has parameters of its own; D1 takes 100. */
const MAX_PARAMETERS = 24;

const findPart = ({ parts }: ComplexAttribute, name: string): SimpleAttribute => {
  const key = name.toLowerCase();
  return Object.hasOwn(parts, key) ? (parts[key] as SimpleAttribute) : NULL_ATTRIBUTE;
};

const ORDER_OPERATORS = { gt: sql`>`, ge: sql`>=`, lt: sql`<`, le: sql`<=` } as const;

function compareSql({ type, is }: SimpleAttribute, op: Comparison, value: Value, mostLetters?: number): SQL {
  if (value === null) return compareNullSql(is, op);
  const wanted = toStoredValue(type, value);
  if (op === 'ne') return sql`not ${compareSql({ type, is }, 'eq', value, mostLetters)}`;
  if (op === 'eq') {
    const isEqual = type === 'text' ? equalsInAnyCase(is, String(wanted), mostLetters) : sql`${is} = ${wanted}`;
    return sql`(${is} is not null and ${isEqual})`;
  }
  if (op in ORDER_OPERATORS) {
    if (type === 'yes-or-no') throw invalidFilter(`orders true and false by ${op}`);
    const folded = type === 'text' ? ignoreCase(is) : is;
    return sql`(${is} is not null and ${folded} ${ORDER_OPERATORS[op as keyof typeof ORDER_OPERATORS]} ${wanted})`;
  }
  if (typeof wanted !== 'string') throw invalidFilter(`looks for a part of what is no text by ${op}`);
  return sql`(${is} is not null and ${comparePartSql(op as 'co' | 'sw' | 'ew', { type, is }, wanted, mostLetters)})`;
}

/**
 * The maximum number of letters beyond ASCII whose case is ignored in a comparison that is not the whole filter, or is with parts of
 * an attribute: the database limits the depth of a statement.
 */
const MAX_LETTERS = 10;

function comparePartSql(
  op: 'co' | 'sw' | 'ew',
  { type, is }: SimpleAttribute,
  part: string,
  mostLetters?: number,
): SQL {
  const { wanted, lower } =
    type === 'exact' ? { wanted: part, lower: (text: SQLWrapper) => text } : foldCase(part, mostLetters);
  if (op === 'co') return sql`instr(${lower(is)}, ${wanted}) > 0`;
  const length = [...wanted].length;
  if (length === 0) return sql`1`;
  return sql`substr(${lower(is)}, ${op === 'sw' ? sql.raw(`1, ${length}`) : sql.raw(`-${length}`)}) = ${wanted}`;
}

function compareNullSql(is: SQLWrapper, op: Comparison): SQL {
  if (op === 'eq') return sql`(${is} is null)`;
  if (op === 'ne') return sql`(${is} is not null)`;
  throw invalidFilter(`compares null by ${op}`);
}

/** The database's form of a value for an attribute of this type. */
function toStoredValue(type: SimpleAttribute['type'], value: Exclude<Value, null>): string | number {
  if (type === 'yes-or-no') {
    const truth = typeof value === 'string' ? value.toLowerCase() : String(value);
    if (truth !== 'true' && truth !== 'false') throw invalidFilter('compares true and false with something else');
    return truth === 'true' ? 1 : 0;
  }
  if (typeof value !== 'string') throw invalidFilter('compares a text with something else');
  if (type !== 'time') return type === 'email' ? value.toLowerCase() : value;
  const time = /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/i.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw invalidFilter('compares a time with something else');
  return time;
}
