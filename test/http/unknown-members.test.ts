import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { findUnknownMembers, getKnownMembers } from '../../src/kernel/members.ts';
import { ENDPOINTS_PATH, publishSql } from '../data-api/support.ts';
import { createQuestion, QUESTIONS_PATH } from '../knowledge/questions/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { operator } from '../organizations/support.ts';
import { createSalesDashboard, createSalesTable, createShare } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { createConsoleGroup, makePolicyInput } from '../support/console.ts';
import { createSignedCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import { confirmJob, makeFile, uploadFiles, waitForAnalysis } from '../uploads/support.ts';
import { postDashboard } from '../visualizations/support.ts';

const listPaths = (schema: z.ZodType, value: unknown) =>
  Array.from(findUnknownMembers(schema, value), ({ path }) => path.join('.'));

describe('body members that a schema does not have', () => {
  const leafSchema = z.object({ kind: z.literal('leaf'), value: z.number() });
  const branchSchema = z.object({
    kind: z.literal('branch'),
    children: z.array(leafSchema),
    value: z.string().optional(),
  });
  const schema = z
    .object({
      name: z.string().optional(),
      nodes: z.array(z.union([leafSchema, branchSchema])).nullable(),
      open: z.record(z.string(), z.unknown()),
    })
    .transform((parsedValue) => parsedValue);

  it.each([
    ['none', { name: 'x', nodes: null, open: { any: { thing: 1 } } }, []],
    ['a name in another case', { Name: 'x' }, ['Name']],
    [
      'names that every JavaScript object has',
      JSON.parse('{ "__proto__": 1, "constructor": 2, "toString": 3 }'),
      ['__proto__', 'constructor', 'toString'],
    ],
    ['inside a list', { nodes: [{ kind: 'leaf', value: 1, extra: 2 }] }, ['nodes.0.extra']],
    ['of another variant of a union', { nodes: [{ kind: 'leaf', children: [] }] }, ['nodes.0.children']],
    [
      'inside a union',
      { nodes: [{ kind: 'branch', children: [{ kind: 'leaf', wrong: 1 }] }] },
      ['nodes.0.children.0.wrong'],
    ],
    ['a value that is no object', 'text', []],
  ])('are found: %s', (_what, value, expected) => {
    expect(listPaths(schema, value)).toEqual(expected);
  });

  /** Kinds of schemas that `findUnknownMembers` searches, or that have no members. */
  const SEARCHED_KINDS = new Set(
    'object array union record string number int boolean enum literal null any unknown custom transform template_literal'.split(
      ' ',
    ),
  );
  const BODY_SCHEMAS = SURFACES.flatMap(({ endpoints }) => endpoints).flatMap(({ contract: { method, path, body } }) =>
    body ? [[`${method.toUpperCase()} ${path}`, body] as const] : [],
  );
  // Protocols of others say that what one does not know is left alone; rows have columns of their own.
  const OPEN_BODY_ROUTES = [
    ...['POST /mcp', 'POST /oauth/register', 'PUT /v1/managed-tables/{id}/data/{rowId}'],
    ...BODY_SCHEMAS.map(([route]) => route).filter((route) => route.includes(' /scim/')),
  ];

  it.each(BODY_SCHEMAS)('are searched for in every body: %s', (route, body) => {
    const visitedSchemas = new Set<unknown>();
    const listKinds = (schemaPart: unknown): string[] => {
      if (visitedSchemas.has(schemaPart)) return [];
      visitedSchemas.add(schemaPart);
      const { def } = (schemaPart as z.core.$ZodTypes)._zod as unknown as {
        def: Record<string, unknown> & { type: string };
      };
      const innerSchemas = [def.innerType, def.in, def.element, def.valueType, ...((def.options as unknown[]) ?? [])];
      const members = Object.values((def.shape as Record<string, unknown>) ?? {});
      const lazySchema = def.type === 'lazy' ? [(def.getter as () => unknown)()] : [];
      return [def.type, ...[...innerSchemas, ...members, ...lazySchema].filter(Boolean).flatMap(listKinds)];
    };
    const WRAPPER_KINDS = [
      'optional',
      'nullable',
      'default',
      'prefault',
      'nonoptional',
      'readonly',
      'catch',
      'lazy',
      'pipe',
    ];
    expect(listKinds(body).filter((kind) => !SEARCHED_KINDS.has(kind) && !WRAPPER_KINDS.includes(kind))).toEqual([]);
    const isOpen = listPaths(body, { unheard_of: 1 }).length === 0;
    expect([route, isOpen]).toEqual([route, OPEN_BODY_ROUTES.includes(route)]);
  });

  it('are not searched for in a schema that allows any member', () => {
    expect(getKnownMembers(z.looseObject({ name: z.string() }))).toBeNull();
  });
});

const company = await createProvisionedCompany();

describe('a record that is read and sent back in a PUT', () => {
  const readDetails = ({
    status,
    body,
  }: {
    status: number;
    body: { details?: { field: string; reason: string; message: string }[] };
  }) => [status, ...(body.details ?? []).map(({ field, reason, message }) => `${field}: ${reason}: ${message}`)];

  it('is accepted with changed fields that the route sets, and its other fields stay unchanged', async () => {
    const { _id } = await createConsoleGroup(company);
    const path = `/v1/groups/${_id}`;
    const readRecord = await expectSuccess(company.as.get(path));
    const { status, body } = await company.as.put(path, { json: { ...readRecord, name: 'Another name' } });
    expect([status, body]).toEqual([200, { ...readRecord, name: 'Another name', updated_at: body.updated_at }]);
  });

  it('is accepted with changed timestamps, which are ignored', async () => {
    const { _id } = await createConsoleGroup(company);
    const path = `/v1/groups/${_id}`;
    const readRecord = await expectSuccess(company.as.get(path));
    const json = { ...readRecord, updated_at: '2001-01-01T00:00:00.000Z', created_at: null };
    expect((await company.as.put(path, { json })).status).toBe(200);
  });

  it('is accepted with a changed row count, but refused with a changed connection id', async () => {
    const { as } = await createProvisionedCompany();
    const path = `/v1/managed-tables/${await createTable(as, 'conectada', [makeColumn('n', 'integer')])}`;
    const readRecord = await expectSuccess(as.get(path));
    expect((await as.put(path, { json: { ...readRecord, row_count: 7 } })).status).toBe(200);
    const { status, body } = await as.put(path, { json: { ...readRecord, connection_id: '0'.repeat(24) } });
    expect([status, body.details?.map(({ field, reason }: Record<string, string>) => [field, reason])]).toEqual([
      422,
      [['connection_id', 'conflict']],
    ]);
  });

  it('is refused with a changed field that no route sets, or that another route sets: the refusal names that route', async () => {
    const user = await createAllowedUser(company);
    const path = `/v1/users/${user.id}`;
    const readRecord = await expectSuccess(company.as.get(path));
    const json = { ...readRecord, status: 'inactive', group_ids: ['another'], company_id: 'another', Name: 'x' };
    expect(readDetails(await company.as.put(path, { json }))).toEqual([
      422,
      'company_id: conflict: cannot be changed',
      'status: conflict: is changed by POST /v1/users/{id}/activate',
      'group_ids: conflict: is changed by PUT /v1/users/{id}/groups',
      'Name: unknown: is not a field of this request',
    ]);
  });

  it('is refused with a changed field that another field, or a route of another API, sets: both are named', async () => {
    const user = await createAllowedUser(company);
    const changes = { teams: ['another'], email: 'another@example.com' };
    expect(readDetails(await company.as.put(`/v1/users/${user.id}`, { json: changes }))).toEqual([
      422,
      'teams: conflict: is changed by team_ids',
      'email: conflict: is changed by PATCH /scim/v2/Users/{id}',
    ]);
    const json = { mfa_enabled: true, email: changes.email };
    expect(readDetails(await createSignedCaller(company.apiKey).patch(`/users/${user.id}`, { json }))).toEqual([
      422,
      'mfa_enabled: conflict: is changed by DELETE /v1/users/{id}/2fa',
      'email: conflict: is changed by PATCH /scim/v2/Users/{id}',
    ]);
    expect(readDetails(await operator.patch(`/admin/organizations/${company.id}`, { json: { quotas: {} } }))).toEqual([
      422,
      'quotas: conflict: is changed by PUT /admin/organizations/{id}/quotas',
    ]);
    const share = await createShare(company, (await postDashboard(company.as, []))._id);
    const sharePath = `/api/v1/dashboard-shares/${share._id ?? share.id}`;
    expect(readDetails(await company.as.put(sharePath, { json: { requires_auth: true } }))).toEqual([
      422,
      'requires_auth: conflict: is changed by share_context_id',
    ]);
    const question = await createQuestion(company.as);
    for (const changedQuestion of [question.question, 'How much is it now?'])
      expect(
        readDetails(
          await company.as.patch(`${QUESTIONS_PATH}/${question.id}`, {
            json: { question: changedQuestion, verified_by: user.id },
          }),
        ),
      ).toEqual([422, 'verified_by: conflict: is changed by question']);
  });

  it('is accepted a second time with a derived field as it was before the first PUT changed it', async () => {
    const policy = await expectSuccess(
      company.as.post('/v1/policies', { json: makePolicyInput([makeAllow('users:list')]) }),
    );
    const endpoint = await publishSql(company, 'SELECT 1 AS n');
    const user = await expectSuccess(company.as.get(`/v1/users/${(await createAllowedUser(company)).id}`));
    const changes: [string, object, object, string][] = [
      [`/v1/policies/${policy._id}`, policy, { name: 'Renamed' }, 'arn: conflict: is changed by name'],
      [`${ENDPOINTS_PATH}/${endpoint._id}`, endpoint, { slug: 'renamed' }, 'url: conflict: is changed by slug'],
      [`/v1/users/${user._id}`, user, { team_ids: ['another'] }, 'teams: conflict: is changed by team_ids'],
    ];
    for (const [path, read, change, refusal] of changes) {
      const json = { ...read, ...change };
      const statuses = [await company.as.put(path, { json }), await company.as.put(path, { json })].map(
        ({ status }) => status,
      );
      expect([path, ...statuses]).toEqual([path, 200, 200]);
      const field = refusal.split(':', 1)[0] as string;
      expect(readDetails(await company.as.put(path, { json: { ...json, [field]: 'never' } }))).toEqual([422, refusal]);
    }
  });

  it('is refused only with names of fields and routes that exist, and never with the name of the requested route', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints).map(({ contract }) => contract);
    const formatRoute = ({ method, path }: Contract) => `${method.toUpperCase()} ${path}`;
    const routes = contracts.map(formatRoute);
    const wrongNames = contracts.flatMap((contract) => {
      const { body, alsoChanges = [], changers = {} } = contract;
      const fields = Object.keys((body && getKnownMembers(body)) ?? {});
      const unknownNames = Object.values(changers).filter((name) => ![...fields, ...routes].includes(name));
      const ownNames = fields.length === 0 ? [] : alsoChanges.filter((name) => !fields.includes(changers[name] ?? ''));
      return [...unknownNames, ...ownNames].map((name) => `${formatRoute(contract)}: ${name}`);
    });
    expect(wrongNames).toEqual([]);
  });

  it('has its read-only fields refused as unknown if the caller may not read it', async () => {
    const { _id } = await createConsoleGroup(company);
    const { as: editor } = await createAllowedUser(company, { can: ['groups:update'] });
    const json = { name: 'Changed', company_id: company.id };
    expect(readDetails(await editor.put(`/v1/groups/${_id}`, { json }))).toEqual([
      422,
      'company_id: unknown: is not a field of this request',
    ]);
  });

  it('is accepted with fields that are returned only for `include`, unless they are changed', async () => {
    await createSalesTable(company);
    const { dashboard } = await createSalesDashboard(company);
    const path = `/v1/dashboards/${dashboard._id}`;
    const { charts, ...read } = await expectSuccess(company.as.get(`${path}?include=charts`));
    expect((await company.as.put(path, { json: { ...read, charts } })).status).toBe(200);
    expect(readDetails(await company.as.put(path, { json: { ...read, charts: [] } }))).toEqual([
      422,
      'charts: conflict: cannot be changed',
    ]);
  });

  it('is accepted as a row with its id, and refused with another id', async () => {
    const table = await createTable(company.as, 'sent_back', [makeColumn('n', 'integer')]);
    const rows = `/v1/managed-tables/${table}/data`;
    await expectSuccess(company.as.post(rows, { json: { rows: [{ n: 1 }] } }));
    const { records } = await expectSuccess(company.as.get(rows));
    const path = `${rows}/${records[0].id}`;
    expect((await company.as.put(path, { json: { ...records[0], n: 2 } })).body.n).toBe(2);
    const [status] = readDetails(await company.as.put(path, { json: { n: 3, id: crypto.randomUUID() } }));
    const missingPath = `${rows}/${crypto.randomUUID()}`;
    expect([status, (await company.as.put(missingPath, { json: { m: 1 } })).status]).toEqual([422, 404]);
  });

  it('is accepted as the inferred schema of an upload, with the evidence of its columns', async () => {
    const jobId = await uploadFiles(company, [makeFile('cities.csv', 'city,people\nRio,6\nOslo,1\n')]);
    const job = await waitForAnalysis(company, jobId);
    const { suggested_table_name: display_name, ...schema } = job.inferred_schema;
    const refusedAnswer = await confirmJob(company, jobId, { display_name, ...schema, sample_rows: [] });
    expect([refusedAnswer.status, refusedAnswer.body.details[0].field]).toEqual([422, 'sample_rows']);
    // Who may not look at the values of the files is shown other evidence than whoever has read it.
    const { as: uploader } = await createAllowedUser(company, { can: ['managed-tables:upload'] });
    const mistypedColumns = schema.columns.map((listedColumn: object) => ({ ...listedColumn, evidenc: 1 }));
    const path = `/v1/managed-tables/upload-jobs/${jobId}/confirm`;
    const mistypedAnswer = await uploader.post(path, { json: { display_name, columns: mistypedColumns } });
    expect([mistypedAnswer.status, mistypedAnswer.body.details[0].field]).toEqual([422, 'columns.0.evidenc']);
    expect((await uploader.post(path, { json: { display_name, ...schema } })).status).toBe(200);
  });
});

it('an unknown body member is reported only once the caller is authenticated and the record is found', async () => {
  const company = await createProvisionedCompany();
  const json = { nmae: 'x' };
  const missingPath = `/v1/groups/${'0'.repeat(24)}`;
  expect((await company.as.put(missingPath, { json })).status).toBe(404);
  expect((await callApi('PUT', missingPath, { json })).status).toBe(401);
});
