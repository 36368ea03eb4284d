import { ExpressionError, type Table, type ValueType } from './expression.ts';
import { parseExpression, type Scope } from './parse.ts';
import { toType } from './types.ts';

/** No two are taken by the same operators and functions, or refused in the same words. */
const TYPES: readonly ValueType[] = ['decimal', 'date', 'text'];

/**
 * Why metric queries cannot read a formula or a filter, which Postgres might; undefined where they can. Others may change
 * the metrics that it builds on: what depends on their types is found out when it is asked for.
 */
export function problemIn(
  text: string,
  as: 'metric' | 'dimension' | 'filter',
  tables: readonly Table[],
): string | undefined {
  if (as !== 'metric') return problemOf(text, { tables }, as === 'filter');
  const [problem, ...others] = TYPES.map((type) => problemOf(text, { tables, typeOfMetric: () => type }));
  return others.every((other) => other === problem) ? problem : undefined;
}

function problemOf(text: string, scope: Scope, isCondition = false): string | undefined {
  try {
    const read = parseExpression(text, scope);
    if (isCondition) toType('boolean', read);
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}
