import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { takesIdempotencyKey } from '../../src/http/failures.ts';
import { defineFailure } from '../../src/kernel/failure.ts';
import { requireConformity } from '../support/conformity.ts';

/** What summaries begin with. A new verb is added here, once it is clear that none of these says it. */
const VERBS = (
  'Accept Activate Add Analyze Answer Archive Ask Attach Begin Cancel Change Check Clone Compare Complete Confirm Copy Create ' +
  'Deactivate Delete Detach Disable Download Enable End Erase Exchange Execute Explain Export Find Generate Get Import Insert ' +
  'Invite Issue List Migrate Preview Provision Query Refresh Register Reject Remove Replace Request Reset Restore Revoke Rotate ' +
  'Run Send Set Show Sign Simulate Suggest Truncate Undo Unsubscribe ' +
  'Update Upload Verify'
).split(' ');

/** What those begin with that change nothing. */
const READING_VERBS = ['Ask', 'Compare', 'Execute', 'Find', 'Preview', 'Query', 'Simulate'];

/** What tells a secret to its owner, or to who may do something to all of a type: what they may do alone decides that. */
const DECIDED_BY_ACCESS = [
  'createServiceToken',
  'setUpSecondFactor',
  'enableSecondFactor',
  'replaceBackupCodes',
  'createWebhookEndpoint',
  'rotateWebhookSecret',
  'createEmbedSigningKey',
];

/** Whether the answer of a route has a member whose name is that of a secret. */
function tellsSecret({ returns }: Contract): boolean {
  if (!('body' in returns)) return false;
  const schema = JSON.stringify(z.toJSONSchema(returns.body, { unrepresentable: 'any' }));
  return /"(\w*secret\w*|token|\w+_token|backup_codes)":\{/.test(schema);
}

type NamedRoute = Pick<Contract, 'method' | 'path' | 'summary' | 'operationId'>;

/** What is wrong with the names of a route, and what to do about it. */
function findNamingProblem({ method, path, summary, operationId = '' }: NamedRoute): string[] {
  const [verb = ''] = summary.split(' ');
  const route = `${method.toUpperCase()} ${path}`;
  if (!VERBS.includes(verb)) {
    const where = 'all are in VERBS of test/http/contracts.test.ts; add yours if none says it';
    return [`${route}: begin the summary with a verb, such as "Get" or "Replace" (${where})`];
  }
  if (summary.endsWith('.')) return [`${route}: end the summary without a full stop`];
  const isNamed = new RegExp(`^${verb.toLowerCase()}[A-Z]\\w*$`).test(operationId);
  return isNamed ? [] : [`${route}: name the operation ${verb.toLowerCase()}…, in camel case, as the summary does`];
}

const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));

describe('the contract of a route', () => {
  it('has a summary that begins with a verb, and an operationId that begins with the same', () => {
    expect(contracts.flatMap(findNamingProblem)).toEqual([]);
  });

  it.each([
    ['The groups', 'listGroups', 'begin the summary with a verb'],
    ['List groups.', 'listGroups', 'without a full stop'],
    ['List groups', 'getGroups', 'name the operation list…'],
  ])('may not have the summary %j with the operationId %s', (summary, operationId, says) => {
    expect(findNamingProblem({ method: 'get', path: '/groups', summary, operationId })).toEqual([
      expect.stringContaining(says),
    ]);
  });

  it('marks each POST that only reads as safe, and no other', () => {
    // The tools of `/mcp` only read.
    const asks = ({ method, summary, path }: Contract) =>
      method === 'post' && (READING_VERBS.includes(summary.split(' ')[0] as string) || path === '/mcp');
    const named = (those: Contract[]) => those.map(({ operationId }) => operationId);
    expect(named(contracts.filter(({ safe }) => safe))).toEqual(named(contracts.filter(asks)));
  });

  it('has a check before it replays an answer with a secret, but for the listed routes', () => {
    const tell = contracts.filter((contract) => takesIdempotencyKey(contract) && tellsSecret(contract));
    expect(tell.filter(({ checkBeforeReplay }) => !checkBeforeReplay).map(({ operationId }) => operationId)).toEqual(
      DECIDED_BY_ACCESS,
    );
    expect(tell.length).toBeGreaterThan(DECIDED_BY_ACCESS.length);
  });

  it('has an operationId that no other has', () => {
    const ids = contracts.map(({ operationId }) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it('describes each failure: one that is made from arguments does not compile without a message', () => {
    const detail = (field: string) => ({ field });
    const described = defineFailure('test.described', 'missing', { message: 'There is none.', detail });
    expect(described('id').detail).toEqual({ message: 'There is none.', field: 'id' });
    // @ts-expect-error nothing says what it means before it is made
    defineFailure('test.described', 'missing', { detail });
  });
});

describe('an answer that is checked against its contract', () => {
  const json = new Headers({ 'content-type': 'application/json' });
  const refusal = (error: string) => ({ error, message: 'There is no such group.', details: {} });
  const conform = (status: number, error: string) => () =>
    requireConformity('GET', `/groups/${'0'.repeat(24)}`, { status, headers: json, body: refusal(error) });

  it('is accepted with an error code that the route lists', () => {
    expect(conform(404, 'NotFound')).not.toThrow();
  });

  it('is rejected with an error code that the route does not list', () => {
    expect(conform(404, 'AlreadyDeleted')).toThrow(
      /GET \/groups\/\{id\} answered 404.*list the failure in the contract's `fails`/,
    );
  });

  it('is rejected with a status that the route does not list', () => {
    expect(conform(409, 'AlreadyExists')).toThrow(/answered 409.*list the failure in the contract's `fails`/);
  });
});
