import { ExpressionError, type Table, type ValueType } from './expression.ts';
import { type ExpressionScope, parseExpression } from './parse.ts';
import { convertToType } from './types.ts';

/** Types that represent all others in trials: operators, functions or error messages differ between any two of them. */
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
  if (as !== 'metric') return findParseProblem(text, { tables }, as === 'filter');
  const [problem, ...others] = TRIAL_TYPES.map((type) => findParseProblem(text, { tables, getMetricType: () => type }));
  return others.every((otherProblem) => otherProblem === problem) ? problem : undefined;
}

function findParseProblem(text: string, scope: ExpressionScope, isCondition = false): string | undefined {
  try {
    const parsedExpression = parseExpression(text, scope);
    if (isCondition) convertToType('boolean', parsedExpression);
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}
