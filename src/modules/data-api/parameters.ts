import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { truncateText } from '../../kernel/text.ts';
import type { Parameter } from '../../sql-templates/parameters.ts';

/**
 * Reads the values of parameters from a query, by slug, in the form of a JSON body: a list is sent as a repeated name, a range
 * as `slug.from` and `slug.to`, and an empty value counts as none. `format` is left out.
 */
export function parseParameters(query: URLSearchParams, parameters: readonly Parameter[]): Record<string, unknown> {
  const kinds = new Map(parameters.map(({ slug, kind }) => [slug, kind]));
  const values: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  for (const name of new Set(query.keys())) {
    if (name === 'format') continue;
    const sentValues = query.getAll(name);
    const value = sentValues.length === 1 ? sentValues[0] : sentValues;
    const [, range = '', end = ''] = /^(.+)\.(from|to)$/.exec(name) ?? [];
    const isRangeEnd = kinds.get(range) === 'date_range';
    const kind = isRangeEnd ? 'date_range' : kinds.get(name);
    // A range without ends is no value, as an empty text is.
    const isEmptyValue = value === '' && !query.has(`${name}.from`) && !query.has(`${name}.to`);
    if (kind === undefined || (kind === 'date_range' && !isRangeEnd && !isEmptyValue)) {
      problems.push({ field: truncateText(name, 70), message: 'is not a parameter of this endpoint' });
    } else if (Array.isArray(value) && kind !== 'multi_select') {
      problems.push({ field: name, message: 'must be sent once' });
    } else if (isRangeEnd) {
      values[range] = { ...(values[range] as object | undefined), [end]: value };
    } else {
      values[name] = value;
    }
  }
  if (problems.length > 0) throw invalidInput(problems);
  return values;
}
