import { describe, expect, test } from 'vitest';
import {
  ALL_ACTIONS,
  ALL_SERVICES,
  getActionEntry,
  isAction,
  isService,
  listCatalogue,
} from '../../src/permissions/actions.ts';
import { makePolicyArn, makeResourceArn } from '../../src/permissions/arn.ts';

/** Every permission that a route requires, as the API contracts spell it. */
const ACTIONS_OF_ROUTES = {
  accounts: 'ListAccounts GetAccount CreateAccount UpdateAccount DeleteAccount',
  'service-accounts':
    'ListServiceAccounts GetServiceAccount CreateServiceAccount UpdateServiceAccount DeleteServiceAccount IssueKey ListKeys RevokeKey',
  groups:
    'ListGroups GetGroup CreateGroup UpdateGroup DeleteGroup AddMember RemoveMember AttachPolicy DetachPolicy ' +
    'list get create update delete attach_policy detach_policy',
  users:
    'ListUsers GetUser CreateUser UpdateUser DeleteUser list get invite update delete activate deactivate assign_groups remove_groups ' +
    'list_integration_users create_integration_user delete_integration_user',
  permissions: 'list get create update delete',
  policies: 'list get create update delete',
  company: 'update update_sso',
  'managed-tables': 'list create update delete data-read data-write upload',
  visualizations: 'list get create update delete execute schedule share',
  dashboards: 'list get create update delete schedule share',
  concepts: 'list get create update delete',
  semantic: 'list create update delete',
  ontology: 'list create update delete',
  knowledge_reviews: 'list generate review',
  data_api: 'execute get_job',
  metadata: 'read',
};

describe('the catalogue of actions', () => {
  test.each(Object.entries(ACTIONS_OF_ROUTES))('contains the actions of %s', (service, names) => {
    for (const name of names.split(' ')) expect(ALL_ACTIONS).toContain(`${service}:${name}`);
  });

  test('names each action once', () => {
    expect(new Set(ALL_ACTIONS).size).toBe(ALL_ACTIONS.length);
  });

  test('is listed by service and as a whole, in full action strings', () => {
    const { services, all } = listCatalogue();
    expect(Object.keys(services)).toEqual(ALL_SERVICES);
    expect(Object.values(services).flat()).toEqual(all);
    expect(services.metadata).toEqual(['metadata:read']);
    for (const [service, actions] of Object.entries(services)) {
      for (const action of actions) expect(action.startsWith(`${service}:`)).toBe(true);
    }
  });

  test('recognizes its actions and services, and no other text', () => {
    expect(isAction('users:list')).toBe(true);
    for (const unknownAction of ['users:lists', 'users:*', '*', 'user:read', '', 'toString'])
      expect(isAction(unknownAction)).toBe(false);
    expect(isService('managed-tables')).toBe(true);
    for (const unknownService of ['tables', 'toString', '__proto__', '*'])
      expect(isService(unknownService)).toBe(false);
  });

  test.each([
    ['users:list', ['read']],
    ['users:ListUsers', ['read']],
    ['service-accounts:ListKeys', ['read']],
    ['managed-tables:data-read', ['read']],
    ['data_api:get_job', ['read']],
    ['groups:create', ['create']],
    ['accounts:CreateAccount', ['create']],
    ['knowledge_reviews:generate', ['create']],
    ['users:invite', ['update']],
    ['users:activate', ['update']],
    ['users:remove_groups', ['update']],
    ['groups:attach_policy', ['update']],
    ['groups:AddMember', ['update']],
    ['service-accounts:IssueKey', ['update']],
    ['managed-tables:data-write', ['update']],
    ['knowledge_reviews:review', ['update']],
    ['permissions:delete', ['delete']],
    ['users:delete_integration_user', ['delete']],
    ['managed-tables:upload', ['create', 'update']],
    ['visualizations:execute', null],
    ['dashboards:share', null],
    ['company:update_sso', null],
  ] as const)('grants %s by the legacy verbs %j', (action, verbs) => {
    expect(getActionEntry(action).legacyVerbs).toEqual(verbs);
  });
});

describe('the ARN of a resource', () => {
  const company = '0123456789abcdef01234567';

  test.each([
    [makeResourceArn('accounts:GetAccount', company, 'a1'), `arn:svc:accounts::${company}:account/a1`],
    [
      makeResourceArn('service-accounts:IssueKey', company, 's1'),
      `arn:svc:service-accounts::${company}:service-account/s1`,
    ],
    [makeResourceArn('users:list', company), `arn:svc:users::${company}:user/*`],
    [makeResourceArn('groups:get', company, 'g1'), `arn:svc:groups::${company}:group/g1`],
    [makeResourceArn('permissions:create', company), `arn:svc:permissions::${company}:permission/*`],
    [makeResourceArn('managed-tables:list', company, 't1'), `arn:svc:managed-tables::${company}:table/t1`],
    [makeResourceArn('visualizations:get', company, 'v1'), `arn:svc:visualizations::${company}:visualization/v1`],
    [makeResourceArn('dashboards:get', company, 'd1'), `arn:svc:dashboards::${company}:dashboard/d1`],
    [makeResourceArn('concepts:get', company, 'c1'), `arn:svc:concepts::${company}:concept/c1`],
    [makeResourceArn('semantic:update', company, 'i1'), `arn:svc:semantic::${company}:item/i1`],
    [makeResourceArn('ontology:update', company, 'n1'), `arn:svc:ontology::${company}:node/n1`],
    [makeResourceArn('ontology:update', company, 'r1', 'relation'), `arn:svc:ontology::${company}:relation/r1`],
    [makeResourceArn('knowledge_reviews:review', company, 's1'), `arn:svc:knowledge_reviews::${company}:suggestion/s1`],
    [makeResourceArn('company:update', company, company), `arn:svc:company::${company}:company/${company}`],
    [makeResourceArn('policies:list', company), `arn:svc:iam::${company}:policy/*`],
    [makePolicyArn(company, 'inline', 'Readers'), `arn:svc:iam::${company}:policy/inline/Readers`],
    [makePolicyArn(null, 'managed', 'ReadOnly'), 'arn:svc:iam:::policy/managed/ReadOnly'],
  ])('is built by kind, company and id: %s', (builtArn, expected) => {
    expect(builtArn).toBe(expected);
  });
});
