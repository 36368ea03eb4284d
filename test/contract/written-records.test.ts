import { describe, expect, it } from 'vitest';
import { ZodObject } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { findReadingContracts } from '../../src/http/written-records.ts';
import { KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { createAllowedAccount, makeAllow } from '../support/signed.ts';
import { WRITES } from './writes.ts';

/** Writes that return a record for which no GET exists, or whose service requires the same action to write as to read. */
const EXEMPT_WRITES = new Set([
  'POST /groups/{id}/bindings',
  'POST /service-accounts/{id}/keys',
  'POST /v1/service-accounts/{id}/keys',
  'POST /api/v1/dashboards/{id}/shares',
  'PUT /api/v1/dashboard-shares/{shareId}',
  'POST /api/v1/share-contexts',
  'PUT /api/v1/share-contexts/{id}',
  'PUT /api/v1/share-contexts/{id}/grants',
  'POST /api/v1/share-contexts/{id}/members',
  'POST /api/v1/embed/dashboards/{id}',
  'POST /api/v1/embed/visualizations/{id}',
  'POST /api/v1/embed/signing-keys',
  'POST /v1/schedules',
  'POST /v1/webhook-endpoints',
  'POST /v1/managed-tables/{id}/indexes',
  ...['concepts/{id}/generate', 'concepts/{id}/promote-semantic', 'concepts/{id}/promote-ontology'].map(
    (path) => `POST ${KNOWLEDGE_PATH}/suggestions/${path}`,
  ),
  ...['semantic/{id}/generate', 'ontology/nodes/{id}/generate', 'ontology/relations/{id}/generate', '{id}/reject'].map(
    (path) => `POST ${KNOWLEDGE_PATH}/suggestions/${path}`,
  ),
]);

const formatRoute = ({ method, path }: Contract) => `${method.toUpperCase()} ${path}`;

const company = await createProvisionedCompany();

describe('a write that answers with a record', () => {
  it('returns only the id to callers who may not read the record, on every route except the listed ones', () => {
    const unrecordedRoutes = SURFACES.flatMap(({ endpoints }) =>
      endpoints
        .map(({ contract }) => contract)
        .filter(({ method, returns, access }) => {
          const shape = 'body' in returns && returns.body instanceof ZodObject ? returns.body.shape : {};
          const isPublic = typeof access === 'string' && ['public', 'operator'].includes(access);
          return method !== 'get' && !isPublic && ('_id' in shape || 'id' in shape);
        })
        .filter((contract) => findReadingContracts(contract, endpoints).length === 0),
    ).map(formatRoute);
    expect(unrecordedRoutes.filter((name) => !EXEMPT_WRITES.has(name))).toEqual([]);
    expect([...EXEMPT_WRITES].filter((name) => !unrecordedRoutes.includes(name))).toEqual([]);
  });

  it.each(Object.entries(WRITES))(
    '%s returns only the id to callers without read access',
    async (_, { writeAction, createRequest, isSigned }) => {
      const sendWrite = await createRequest(company);
      const as = isSigned
        ? (await createAllowedAccount(company, makeAllow(writeAction))).as
        : (await createAllowedUser(company, { can: [writeAction] })).as;
      const { status, body } = await sendWrite(as);
      expect([200, 201]).toContain(status);
      expect(Object.keys(body)).toEqual([isSigned ? 'id' : '_id']);
    },
  );
});
