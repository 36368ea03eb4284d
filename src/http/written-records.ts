import { z } from 'zod';
import type { PrincipalContext } from '../context.ts';
import { Failure } from '../kernel/failure.ts';
import type { Contract, Endpoint } from './endpoint.ts';
import { authorize } from './request-checks.ts';

const getShape = ({ returns }: Contract): z.ZodRawShape =>
  'body' in returns && returns.body instanceof z.ZodObject ? returns.body.shape : {};

/** Finds the name under which a record has its id. */
const findIdField = (record: object): '_id' | 'id' | undefined =>
  '_id' in record ? '_id' : 'id' in record ? 'id' : undefined;

/** Schema of a write's answer for a caller who may not read the record: its id alone. */
export const writtenRecordSchema = {
  _id: z.object({ _id: z.string() }).meta({ id: 'WrittenRecord' }),
  id: z.object({ id: z.string() }).meta({ id: 'OrganizationWrittenRecord' }),
};

/**
 * Returns the GETs that show the record which a write returns: those with the same response schema, and the one that its contract
 * names. Left out are GETs whose service decides who may read: the same rule has
 * admitted the caller of the write.
 */
export function findReadingContracts(contract: Contract, endpoints: readonly Endpoint[]): Contract[] {
  if (contract.method === 'get' || !findIdField(getShape(contract))) return [];
  return endpoints
    .map((endpoint) => endpoint.contract)
    .filter(({ method, path, returns, access }) => {
      const showsRecord =
        path === contract.shownPath ||
        ('body' in returns && 'body' in contract.returns && returns.body === contract.returns.body);
      return method === 'get' && showsRecord && !(typeof access === 'object' && 'decidedBy' in access);
    });
}

/** Returns the answer of a write: the record, or its id alone for a caller who may not read it. */
export async function makeWrittenAnswer(
  readingContracts: readonly Contract[],
  ctx: PrincipalContext,
  record: object,
): Promise<object> {
  const field = findIdField(record);
  if (readingContracts.length === 0 || !field) return record;
  const id = String((record as Record<string, unknown>)[field]);
  for (const readingContract of readingContracts) {
    try {
      await authorize(readingContract, ctx, () => id);
      return record;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'forbidden') throw error;
    }
  }
  return { [field]: id };
}

/** Makes the schema of a write's answer. */
export function makeResponseSchema(
  schema: z.ZodType,
  contract: Contract,
  readingContracts: readonly Contract[],
): z.ZodType {
  const field = findIdField(getShape(contract));
  return readingContracts.length === 0 || !field ? schema : z.union([schema, writtenRecordSchema[field]]);
}
