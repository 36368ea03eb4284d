import { z } from 'zod';
import { compareAccess } from '../../access/comparison.ts';
import { compileAccess } from '../../access/evaluation.ts';
import { accessTooComplex, grantExceeds } from '../../access/failures.ts';
import { findAllowedPrincipals } from '../../access/who-can.ts';
import { concurrentChange } from '../../db/failures.ts';
import { principalView } from '../../http/dry-run.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery, makeSortedListQuery, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { description } from '../../kernel/fields.ts';
import { listCatalogue } from '../../permissions/actions.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';
import { serviceAccountNotFound } from '../service-accounts/failures.ts';
import { userNotFound } from '../users/failures.ts';
import { explainOwnAccess, filterVisibleRules, type Rule, simulateAccess } from './explanation.ts';
import { policyInUse, policyLimitExceeded, policyNameTaken, policyNotFound, policyNotModifiable } from './failures.ts';
import {
  changePolicy,
  clonePolicy,
  createPolicy,
  deletePolicy,
  getAllPoliciesArn,
  getPolicy,
  listPolicies,
  readPolicyArn,
} from './service.ts';
import {
  actionInput,
  decisionView,
  ownPermissionsView,
  policyDocumentInput,
  policyView,
  resourceInput,
  viewOwnPermissions,
  viewPolicy,
} from './views.ts';

/** The schema of a policy's name. It becomes part of an ARN, where `*` would read as a pattern. */
const policyName = z
  .string()
  .trim()
  .min(1)
  .max(128)
  .refine((name) => !/[*\p{C}]/u.test(name), 'must hold neither "*" nor control characters');

const policyInput = z.object({ name: policyName, description: description.default(''), document: policyDocumentInput });
const policyChanges = z.object({ name: policyName, description, document: policyDocumentInput }).partial();
const cloneInput = z.object({ name: policyName, description: description.optional() });

const MAX_SIMULATED_CHECKS = 100;

const simulationInput = z.object({
  principal: z.object({ type: z.enum(['user', 'service_account']), id: z.string().max(100) }),
  checks: z
    .array(
      z.object({
        action: actionInput,
        resource: resourceInput,
      }),
    )
    .min(1)
    .max(MAX_SIMULATED_CHECKS),
});

const simulationView = z.object({
  action: z.string(),
  resource: z.string(),
  allowed: z.boolean(),
  decided_by: decisionView,
});

/** The maximum number of documents on one side of a comparison: as many as can be attached to two groups. */
const MAX_COMPARED_DOCUMENTS = 100;

const documentSetInput = z.object({ documents: z.array(policyDocumentInput).max(MAX_COMPARED_DOCUMENTS) });

const witness = z.object({ action: z.string(), resource: z.string() });

export const policyEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/policies',
      access: 'policies:list',
      operationId: 'listPolicies',
      summary: 'List policies',
      description:
        'Managed policies first, then the company’s own, the newest first, unless `sort_by` says otherwise: managed policies are older than all others.',
      query: makeSortedListQuery({
        searchedField: 'the name',
        fields: ['name', 'created_at', 'type'],
        defaultOrdering: 'type',
      }),
      returns: ok(makeListSchema(policyView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listPolicies(ctx, toSortedRequest(query)), viewPolicy),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/policies/actions',
      access: 'authenticated',
      operationId: 'listActions',
      summary: 'List actions',
      description: 'Every action that policies can name, by service.',
      returns: ok(z.object({ services: z.record(z.string(), z.array(z.string())), all: z.array(z.string()) })),
      fails: [],
    },
    () => listCatalogue(),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/policies/{id}',
      access: { action: 'policies:get', on: readPolicyArn },
      operationId: 'getPolicy',
      summary: 'Get a policy',
      description:
        'With its document. Managed policies, which all companies have, are found as well as the company’s own.',
      returns: ok(policyView),
      versionDeclaration: declareVersion(),
      fails: [policyNotFound],
    },
    async ({ ctx, params }) => viewPolicy(await getPolicy(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/policies',
      access: 'policies:create',
      operationId: 'createPolicy',
      summary: 'Create a policy',
      description: 'Refused if it allows more than the caller may do.',
      body: policyInput,
      dryRun: true,
      returns: created(policyView),
      fails: [policyNameTaken, policyLimitExceeded, grantExceeds],
    },
    async ({ ctx, body }) => viewPolicy(await createPolicy(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/policies/{id}',
      access: { action: 'policies:update', on: readPolicyArn },
      operationId: 'updatePolicy',
      summary: 'Update a policy',
      description:
        'Changes only the fields that are sent; managed policies cannot be changed. Refused if the change newly allows, or no longer denies, something that the caller may not do.',
      body: policyChanges,
      changers: { arn: 'name' },
      dryRun: true,
      returns: ok(policyView),
      fails: [
        policyNotFound,
        policyNotModifiable,
        policyNameTaken,
        policyLimitExceeded,
        grantExceeds,
        concurrentChange,
      ],
    },
    async ({ ctx, params, body }) => viewPolicy(await changePolicy(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/policies/{id}',
      access: { action: 'policies:delete', on: readPolicyArn },
      operationId: 'deletePolicy',
      summary: 'Delete a policy',
      description: 'A policy of the company’s own can be deleted once it is attached to no group.',
      dryRun: true,
      returns: noContent,
      fails: [policyNotFound, policyNotModifiable, policyInUse],
    },
    ({ ctx, params }) => deletePolicy(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/policies/{id}/clone',
      access: { action: 'policies:create', on: getAllPoliciesArn },
      operationId: 'clonePolicy',
      summary: 'Clone a policy',
      description:
        'Copies any policy, including a managed one, into a new policy of the company’s own. Refused if it allows more than the caller may do.',
      body: cloneInput,
      createdUnder: '/v1/policies',
      dryRun: true,
      returns: created(policyView),
      fails: [policyNotFound, policyNameTaken, policyLimitExceeded, grantExceeds],
    },
    async ({ ctx, params, body }) => viewPolicy(await clonePolicy(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/policies/simulate',
      access: 'policies:get',
      operationId: 'simulateAccess',
      summary: "Simulate a principal's access",
      safe: true,
      description: 'Shows what a user or service account may do and what decides it, evaluated as for a real request.',
      body: simulationInput,
      returns: ok(z.object({ results: z.array(simulationView) })),
      fails: [userNotFound, serviceAccountNotFound],
    },
    async ({ ctx, body }) => ({ results: await simulateAccess(ctx, body.principal, body.checks) }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/permissions',
      recordedAs: 'auth:permissions',
      access: 'authenticated',
      operationId: 'getOwnPermissions',
      summary: "Get the caller's permissions",
      description:
        'For a console that shows only what its user may do: the policies that reach the caller, and the actions that are allowed on everything. Whether one resource is allowed, its own request decides.',
      returns: ok(ownPermissionsView),
      fails: [],
    },
    async ({ ctx }) => viewOwnPermissions(ctx.actor, await explainOwnAccess(ctx)),
  ),
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
