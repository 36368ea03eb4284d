import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { knownMembers, unknownMembers } from '../../src/kernel/members.ts';
import { aPublished, ENDPOINTS_PATH } from '../data-api/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { aSalesDashboard, someSales } from '../shares/support.ts';
import { call } from '../support/api.ts';
import { createConsoleGroup, makePolicyInput } from '../support/console.ts';
import { allow, must, signed } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { confirmJob, makeFile, uploadFiles, waitForAnalysis } from '../uploads/support.ts';

const listPaths = (schema: z.ZodType, value: unknown) =>
  Array.from(unknownMembers(schema, value), ({ path }) => path.join('.'));

describe('body members that a schema does not have', () => {
  const leaf = z.object({ kind: z.literal('leaf'), value: z.number() });
  const branch = z.object({ kind: z.literal('branch'), children: z.array(leaf), value: z.string().optional() });
  const schema = z
    .object({
      name: z.string().optional(),
      nodes: z.array(z.union([leaf, branch])).nullable(),
      open: z.record(z.string(), z.unknown()),
    })
    .transform((read) => read);

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

  /** Kinds of schemas that `unknownMembers` looks into, or that hold no members. */
  const KINDS = new Set(
    'object array union record string number int boolean enum literal null any unknown custom transform template_literal'.split(
      ' ',
    ),
  );
  const BODIES = SURFACES.flatMap(({ endpoints }) => endpoints).flatMap(({ contract: { method, path, body } }) =>
    body ? [[`${method.toUpperCase()} ${path}`, body] as const] : [],
  );
  // Protocols of others say that what one does not know is left alone; rows have columns of their own.
  const OPEN = [
    ...['POST /mcp', 'POST /oauth/register', 'PUT /v1/managed-tables/{id}/data/{rowId}'],
    ...BODIES.map(([route]) => route).filter((route) => route.includes(' /scim/')),
  ];

  it.each(BODIES)('are looked for in every body: %s', (route, body) => {
    const seen = new Set<unknown>();
    const kindsIn = (one: unknown): string[] => {
      if (seen.has(one)) return [];
      seen.add(one);
      const { def } = (one as z.core.$ZodTypes)._zod as unknown as { def: Record<string, unknown> & { type: string } };
      const inner = [def.innerType, def.in, def.element, def.valueType, ...((def.options as unknown[]) ?? [])];
      const members = Object.values((def.shape as Record<string, unknown>) ?? {});
      const getter = def.type === 'lazy' ? [(def.getter as () => unknown)()] : [];
      return [def.type, ...[...inner, ...members, ...getter].filter(Boolean).flatMap(kindsIn)];
    };
    const WRAPPERS = [
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
    expect(kindsIn(body).filter((kind) => !KINDS.has(kind) && !WRAPPERS.includes(kind))).toEqual([]);
    const isOpen = listPaths(body, { unheard_of: 1 }).length === 0;
    expect([route, isOpen]).toEqual([route, OPEN.includes(route)]);
  });

  it('are not looked for in a schema that allows any member', () => {
    expect(knownMembers(z.looseObject({ name: z.string() }))).toBeNull();
  });
});

describe('a record that is read and sent back in a PUT', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aProvisionedCompany();
  });

  const detailsOf = ({
    status,
    body,
  }: {
    status: number;
    body: { details?: { field: string; reason: string; message: string }[] };
  }) => [status, ...(body.details ?? []).map(({ field, reason, message }) => `${field}: ${reason}: ${message}`)];

  it('is accepted with changed fields that the route sets, and its other fields stay as they were', async () => {
    const { _id } = await createConsoleGroup(company);
    const path = `/v1/groups/${_id}`;
    const read = await must(company.as.get(path));
    const { status, body } = await company.as.put(path, { json: { ...read, name: 'Another name' } });
    expect([status, body]).toEqual([200, { ...read, name: 'Another name', updated_at: body.updated_at }]);
  });

  it('is accepted with other timestamps, which are ignored', async () => {
    const { _id } = await createConsoleGroup(company);
    const path = `/v1/groups/${_id}`;
    const read = await must(company.as.get(path));
    const json = { ...read, updated_at: '2001-01-01T00:00:00.000Z', created_at: null };
    expect((await company.as.put(path, { json })).status).toBe(200);
  });

  it('is accepted with another row count, but refused with another connection id', async () => {
    const { as } = await aProvisionedCompany();
    const path = `/v1/managed-tables/${await createTable(as, 'conectada', [column('n', 'integer')])}`;
    const read = await must(as.get(path));
    expect((await as.put(path, { json: { ...read, row_count: 7 } })).status).toBe(200);
    const { status, body } = await as.put(path, { json: { ...read, connection_id: '0'.repeat(24) } });
    expect([status, body.details?.map(({ field, reason }: Record<string, string>) => [field, reason])]).toEqual([
      422,
      [['connection_id', 'conflict']],
    ]);
  });

  it('is refused with a changed field that no route sets, or another route, which is then named', async () => {
    const user = await aUser(company);
    const path = `/v1/users/${user.id}`;
    const read = await must(company.as.get(path));
    const json = { ...read, status: 'inactive', group_ids: ['another'], company_id: 'another', Name: 'x' };
    expect(detailsOf(await company.as.put(path, { json }))).toEqual([
      422,
      'company_id: conflict: cannot be changed',
      'status: conflict: is changed by POST /v1/users/{id}/activate',
      'group_ids: conflict: is changed by PUT /v1/users/{id}/groups',
      'Name: unknown: is not a field of this request',
    ]);
  });

  it('is refused with a changed field that another field, or a route of another surface, changes: both are named', async () => {
    const user = await aUser(company);
    const changes = { teams: ['another'], email: 'another@example.com' };
    expect(detailsOf(await company.as.put(`/v1/users/${user.id}`, { json: changes }))).toEqual([
      422,
      'teams: conflict: is changed by team_ids',
      'email: conflict: is changed by PATCH /scim/v2/Users/{id}',
    ]);
    const json = { mfa_enabled: true, email: changes.email };
    expect(detailsOf(await signed(company.apiKey).patch(`/users/${user.id}`, { json }))).toEqual([
      422,
      'mfa_enabled: conflict: is changed by DELETE /v1/users/{id}/2fa',
      'email: conflict: is changed by PATCH /scim/v2/Users/{id}',
    ]);
  });

  it('is accepted a second time after it changed what another field is made from', async () => {
    const policy = await must(company.as.post('/v1/policies', { json: makePolicyInput([allow('users:list')]) }));
    const endpoint = await aPublished(company, 'SELECT 1 AS n');
    const user = await must(company.as.get(`/v1/users/${(await aUser(company)).id}`));
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
      expect(detailsOf(await company.as.put(path, { json: { ...json, [field]: 'never' } }))).toEqual([422, refusal]);
    }
  });

  it('is told of fields and routes that exist, and of no route that is the one asked', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints).map(({ contract }) => contract);
    const nameOf = ({ method, path }: Contract) => `${method.toUpperCase()} ${path}`;
    const routes = contracts.map(nameOf);
    const wrong = contracts.flatMap((contract) => {
      const { body, alsoChanges = [], changedBy = {} } = contract;
      const fields = Object.keys((body && knownMembers(body)) ?? {});
      const unknown = Object.values(changedBy).filter((name) => ![...fields, ...routes].includes(name));
      const itself = fields.length === 0 ? [] : alsoChanges.filter((name) => !fields.includes(changedBy[name] ?? ''));
      return [...unknown, ...itself].map((name) => `${nameOf(contract)}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });

  it('has its read-only fields refused as unknown if the caller may not read it', async () => {
    const { _id } = await createConsoleGroup(company);
    const { as: editor } = await aUser(company, { can: ['groups:update'] });
    const json = { name: 'Changed', company_id: company.id };
    expect(detailsOf(await editor.put(`/v1/groups/${_id}`, { json }))).toEqual([
      422,
      'company_id: unknown: is not a field of this request',
    ]);
  });

  it('is accepted with fields that only `include` shows, unless they are changed', async () => {
    await someSales(company);
    const { dashboard } = await aSalesDashboard(company);
    const path = `/v1/dashboards/${dashboard._id}`;
    const { charts, ...read } = await must(company.as.get(`${path}?include=charts`));
    expect((await company.as.put(path, { json: { ...read, charts } })).status).toBe(200);
    expect(detailsOf(await company.as.put(path, { json: { ...read, charts: [] } }))).toEqual([
      422,
      'charts: conflict: cannot be changed',
    ]);
  });

  it('is accepted as a row with its id, and refused with another id', async () => {
    const table = await createTable(company.as, 'sent_back', [column('n', 'integer')]);
    const rows = `/v1/managed-tables/${table}/data`;
    await must(company.as.post(rows, { json: { rows: [{ n: 1 }] } }));
    const { records } = await must(company.as.get(rows));
    const path = `${rows}/${records[0].id}`;
    expect((await company.as.put(path, { json: { ...records[0], n: 2 } })).body.n).toBe(2);
    const [status] = detailsOf(await company.as.put(path, { json: { n: 3, id: crypto.randomUUID() } }));
    const missing = `${rows}/${crypto.randomUUID()}`;
    expect([status, (await company.as.put(missing, { json: { m: 1 } })).status]).toEqual([422, 404]);
  });

  it('is accepted as the inferred schema of an upload, with the evidence of its columns', async () => {
    const jobId = await uploadFiles(company, [makeFile('cities.csv', 'city,people\nRio,6\nOslo,1\n')]);
    const job = await waitForAnalysis(company, jobId);
    const { suggested_table_name: display_name, ...schema } = job.inferred_schema;
    const refused = await confirmJob(company, jobId, { display_name, ...schema, sample_rows: [] });
    expect([refused.status, refused.body.details[0].field]).toEqual([422, 'sample_rows']);
    // Who may not look at the values of the files is shown other evidence than whoever has read it.
    const { as: uploader } = await aUser(company, { can: ['managed-tables:upload'] });
    const unknown = schema.columns.map((each: object) => ({ ...each, evidenc: 1 }));
    const path = `/v1/managed-tables/upload-jobs/${jobId}/confirm`;
    const mistyped = await uploader.post(path, { json: { display_name, columns: unknown } });
    expect([mistyped.status, mistyped.body.details[0].field]).toEqual([422, 'columns.0.evidenc']);
    expect((await uploader.post(path, { json: { display_name, ...schema } })).status).toBe(200);
  });
});

it('an unknown body member is reported only once the caller is known and the record is found', async () => {
  const company = await aProvisionedCompany();
  const json = { nmae: 'x' };
  const missing = `/v1/groups/${'0'.repeat(24)}`;
  expect((await company.as.put(missing, { json })).status).toBe(404);
  expect((await call('PUT', missing, { json })).status).toBe(401);
});
