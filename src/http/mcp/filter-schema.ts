import { FILTER_OPERATORS, type FilterOperator } from '../../tenant-sql/row-filters.ts';

/** Not as a list of types: several clients of the protocol cannot read one. */
const SCALAR = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };

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
