import { ExpressionError, type Table, type ValueType } from './expression.ts';
import { parseExpression, type Scope } from './parse.ts';
import { toType } from './types.ts';

/** Types that represent all others in trials: operators, functions or error messages differ between each two of them. */
const TRIAL_TYPES: readonly ValueType[] = ['decimal', 'date', 'text'];

/**
 * Returns why metric queries cannot read a formula or a filter that Postgres may accept; undefined where they can. The metrics
 * that it builds on may change: a problem that depends on their types is only found by a query.
 */
export function findFormulaProblem(
  text: string,
  as: 'metric' | 'dimension' | 'filter',
  tables: readonly Table[],
): string | undefined {
  if (as !== 'metric') return findProblem(text, { tables }, as === 'filter');
  const [problem, ...others] = TRIAL_TYPES.map((type) => findProblem(text, { tables, typeOfMetric: () => type }));
  return others.every((other) => other === problem) ? problem : undefined;
}

function findProblem(text: string, scope: Scope, isCondition = false): string | undefined {
  try {
    const read = parseExpression(text, scope);
    if (isCondition) toType('boolean', read);
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}
