import { z } from 'zod';
import { compareAccess } from '../../access/comparison.ts';
import { compileAccess } from '../../access/evaluation.ts';
import { accessTooComplex } from '../../access/failures.ts';
import { findAllowedPrincipals } from '../../access/who-can.ts';
import { principalView } from '../../http/dry-run.ts';
import { ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';
import { filterVisibleRules, type Rule } from './explanation.ts';
import { actionInput, decisionView, policyDocumentInput, resourceInput } from './views.ts';

/** The maximum number of documents on one side of a comparison: as many as can be attached to two groups. */
const MAX_COMPARED_DOCUMENTS = 100;

const documentSetInput = z.object({ documents: z.array(policyDocumentInput).max(MAX_COMPARED_DOCUMENTS) });

const witness = z.object({ action: z.string(), resource: z.string() });

/** The endpoints that tell who can do something, and which access a change would give or take. */
export const analysisEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/policies/who-can',
      access: 'policies:list',
      operationId: 'queryPrincipalsWhoCan',
      summary: 'Query who can do something',
      description:
        'Every active user and service account that is allowed the action on the resource, with what decides it: people first, by name. Nobody who is invited or deactivated, and nobody whom the caller may not see.',
      safe: true,
      query: makePageQuery('per_page'),
      body: z.object({ action: actionInput, resource: resourceInput }),
      returns: ok(makeListSchema(z.object({ principal: principalView, decided_by: decisionView }))),
      fails: [],
    },
    async ({ ctx, query, body }) => {
      const allowedPrincipals = await findAllowedPrincipals(ctx.db, ctx.actor, body, {
        page: query.page,
        perPage: query.per_page,
      });
      const rules = await filterVisibleRules(
        ctx,
        allowedPrincipals.records.map(({ decidedBy }) => decidedBy),
      );
      const records = allowedPrincipals.records.map(({ principal }, at) => ({
        principal,
        decided_by: rules[at] as Rule,
      }));
      return viewList({ ...allowedPrincipals, records }, (record) => record);
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/policies/compare',
      access: 'policies:list',
      operationId: 'comparePolicies',
      summary: 'Compare policy documents',
      description:
        'Whether two sets of documents allow the same, exactly: for each action of the catalogue on all resources that there can be. Where they differ, a shortest resource is named that only one of them allows.',
      safe: true,
      body: z.object({ before: documentSetInput, after: documentSetInput }),
      bodyLimit: 4 * 1024 * 1024,
      returns: ok(z.object({ equal: z.boolean(), gains: z.array(witness), losses: z.array(witness) })),
      fails: [accessTooComplex],
    },
    ({ ctx, body }) => {
      const { companyId } = ctx.actor;
      const { gains, losses } = compareAccess(
        makeAccess(companyId, body.before.documents),
        makeAccess(companyId, body.after.documents),
      );
      return { equal: gains.length + losses.length === 0, gains, losses };
    },
  ),
];

/** Makes the access of a principal with only these documents. */
const makeAccess = (companyId: string, documents: readonly PolicyDocument[]) =>
  compileAccess({
    companyId,
    isOwner: false,
    groups: [
      { id: '', roles: [], permissions: [], policies: documents.map((document, at) => ({ id: String(at), document })) },
    ],
  });
