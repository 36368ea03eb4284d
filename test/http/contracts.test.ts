import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { takesIdempotencyKey } from '../../src/http/failures.ts';
import { defineFailure } from '../../src/kernel/failure.ts';
import { expectConformity } from '../support/conformity.ts';

/** The verbs with which summaries may begin. A new verb is added here only if none of these expresses it. */
const VERBS = (
  'Accept Activate Add Analyze Answer Archive Ask Attach Begin Cancel Change Check Clone Compare Complete Confirm Copy Create ' +
  'Deactivate Delete Detach Disable Download Enable End Erase Exchange Execute Explain Export Find Generate Get Import Insert ' +
  'Invite Issue List Migrate Preview Provision Query Refresh Register Reject Remove Replace Request Reset Restore Revoke Rotate ' +
  'Run Send Set Show Sign Simulate Suggest Truncate Undo Unsubscribe ' +
  'Update Upload Verify'
).split(' ');

/** The verbs of summaries of operations that change nothing. */
const READING_VERBS = ['Ask', 'Compare', 'Execute', 'Find', 'Preview', 'Query', 'Simulate'];

/** Operations that show a secret to its owner, or to callers with permission for all of a type: their access alone decides. */
const ACCESS_DECIDED_OPERATIONS = [
  'createServiceToken',
  'setUpSecondFactor',
  'enableSecondFactor',
  'replaceBackupCodes',
  'createWebhookEndpoint',
  'rotateWebhookSecret',
];

/** Returns true if a route's answer has a member with the name of a secret. */
function hasSecretMember({ returns }: Contract): boolean {
  if (!('body' in returns)) return false;
  const schema = JSON.stringify(z.toJSONSchema(returns.body, { unrepresentable: 'any' }));
  return /"(\w*secret\w*|token|\w+_token|backup_codes)":\{/.test(schema);
}

type NamedRoute = Pick<Contract, 'method' | 'path' | 'summary' | 'operationId'>;

/** Lists what is wrong with the names of a route, with advice. */
function findNamingProblem({ method, path, summary, operationId = '' }: NamedRoute): string[] {
  const [verb = ''] = summary.split(' ');
  const route = `${method.toUpperCase()} ${path}`;
  if (!VERBS.includes(verb)) {
    const advice = 'all are in VERBS of test/http/contracts.test.ts; add yours if none says it';
    return [`${route}: begin the summary with a verb, such as "Get" or "Replace" (${advice})`];
  }
  if (summary.endsWith('.')) return [`${route}: end the summary without a full stop`];
  const startsWithVerb = new RegExp(`^${verb.toLowerCase()}[A-Z]\\w*$`).test(operationId);
  return startsWithVerb
    ? []
    : [`${route}: name the operation ${verb.toLowerCase()}…, in camel case, as the summary does`];
}

const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));

describe('the contract of a route', () => {
  it('has a summary that begins with a verb, and an operationId that begins with the same verb', () => {
    expect(contracts.flatMap(findNamingProblem)).toEqual([]);
  });

  it.each([
    ['The groups', 'listGroups', 'begin the summary with a verb'],
    ['List groups.', 'listGroups', 'without a full stop'],
    ['List groups', 'getGroups', 'name the operation list…'],
  ])('may not have the summary %j with the operationId %s', (summary, operationId, expectedMessage) => {
    expect(findNamingProblem({ method: 'get', path: '/groups', summary, operationId })).toEqual([
      expect.stringContaining(expectedMessage),
    ]);
  });

  it('marks each POST that only reads as safe, and no other', () => {
    // The tools of `/mcp` only read.
    const isReadingPost = ({ method, summary, path }: Contract) =>
      method === 'post' && (READING_VERBS.includes(summary.split(' ')[0] as string) || path === '/mcp');
    const listOperationIds = (someContracts: Contract[]) => someContracts.map(({ operationId }) => operationId);
    expect(listOperationIds(contracts.filter(({ safe }) => safe))).toEqual(
      listOperationIds(contracts.filter(isReadingPost)),
    );
  });

  it('has a check before it replays an answer with a secret, except on the listed routes', () => {
    const secretContracts = contracts.filter((contract) => takesIdempotencyKey(contract) && hasSecretMember(contract));
    expect(secretContracts.filter(({ checkPath }) => !checkPath).map(({ operationId }) => operationId)).toEqual(
      ACCESS_DECIDED_OPERATIONS,
    );
    expect(secretContracts.length).toBeGreaterThan(ACCESS_DECIDED_OPERATIONS.length);
  });

  it('has an operationId that no other contract has', () => {
    const ids = contracts.map(({ operationId }) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it('describes each failure: a failure that is made from arguments does not compile without a message', () => {
    const makeDetail = (field: string) => ({ field });
    const describedFailure = defineFailure('test.described', 'missing', {
      message: 'There is none.',
      detail: makeDetail,
    });
    expect(describedFailure('id').detail).toEqual({ message: 'There is none.', field: 'id' });
    // @ts-expect-error nothing says what it means before it is made
    defineFailure('test.described', 'missing', { detail: makeDetail });
  });
});

describe('an answer that is checked against its contract', () => {
  const json = new Headers({ 'content-type': 'application/json' });
  const makeRefusal = (error: string) => ({ error, message: 'There is no such group.', details: {} });
  const checkAnswer = (status: number, error: string) => () =>
    expectConformity('GET', `/groups/${'0'.repeat(24)}`, { status, headers: json, body: makeRefusal(error) });

  it('is accepted with an error code that the route lists', () => {
    expect(checkAnswer(404, 'NotFound')).not.toThrow();
  });

  it('is rejected with an error code that the route does not list', () => {
    expect(checkAnswer(404, 'AlreadyDeleted')).toThrow(
      /GET \/groups\/\{id\} answered 404.*list the failure in the contract's `fails`/,
    );
  });

  it('is rejected with a status that the route does not list', () => {
    expect(checkAnswer(409, 'AlreadyExists')).toThrow(/answered 409.*list the failure in the contract's `fails`/);
  });
});
