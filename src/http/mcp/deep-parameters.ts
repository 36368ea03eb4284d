import { ExactNumber } from '../../kernel/exact-json.ts';
import { invalid } from '../../kernel/failure.ts';
import { FILTER_OPERATORS, type FilterOperator } from '../../tenant-sql/row-filters.ts';
import type { DeepParameter } from '../deep-object.ts';

const SCALAR = { type: ['string', 'number', 'boolean'] };

const valueSchema = (operator: FilterOperator): object => {
  if (operator === 'in' || operator === 'nin') return { type: 'array', items: SCALAR };
  if (operator === 'is_null') return { type: 'boolean' };
  return operator === 'contains' || operator === 'starts_with' ? { type: 'string' } : SCALAR;
};

/** How a tool describes `filter`, for a model. */
export const filterSchema = {
  type: 'object',
  description: '`{ column: { operator: value } }`. All must fit. `ne` and `nin` keep nulls.',
  additionalProperties: {
    type: 'object',
    properties: Object.fromEntries(FILTER_OPERATORS.map((operator) => [operator, valueSchema(operator)])),
    additionalProperties: false,
  },
};

/** Most parameters that are made of a filter; its schema takes fewer. */
const MOST = 1000;

/**
 * `{ column: { operator: value } }` as the parameters `filter[column][operator]=value` of an address. A list of values is
 * one list for `in` and `nin`, and for every other operator several parameters, all of which must fit.
 */
export function deepParameters(filter: unknown): DeepParameter[] {
  if (!isObject(filter)) throw invalid([{ field: 'filter', message: 'must be an object of columns' }]);
  const parameters = Object.entries(filter).flatMap(([column, operators]) => {
    if (!isObject(operators))
      throw invalid([{ field: `filter[${column}]`, message: 'must be an object of operators' }]);
    return Object.entries(operators).flatMap(([operator, value]) => {
      const texts = (Array.isArray(value) ? value : [value]).map((each) =>
        textOf(`filter[${column}][${operator}]`, each),
      );
      const values = isList(operator) && Array.isArray(value) ? [texts.map(quoted).join(',')] : texts;
      return values.map((text) => ({ column, operator, value: text }));
    });
  });
  return parameters.slice(0, MOST);
}

const isList = (operator: string): boolean => operator === 'in' || operator === 'nin';

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

function textOf(field: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof ExactNumber) return value.digits;
  throw invalid([{ field, message: 'must be a text, a number or a boolean' }]);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
