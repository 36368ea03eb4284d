import { describe, expect, it } from 'vitest';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makePermissionInput,
  readInvalidFields,
  readStatusAndCode,
  UNKNOWN_ID,
} from '../support/console.ts';
import { runSql } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';

const company = await createOwnedCompany();

const createPermissionFrom = (json: Record<string, unknown>) => company.as.post('/v1/permissions', { json });
const makeTarget = (targetFields: Record<string, unknown>) => ({ target: { company_id: company.id, ...targetFields } });

describe('a permission', () => {
  it.each([
    ['the company', {}],
    ['one service', { service_name: 'managed-tables' }],
    ['one resource', { service_name: 'users', service_id: UNKNOWN_ID }],
    ['all resources of a service', { service_name: 'users', service_id: '*' }],
  ])('for %s is created, and returned as it was sent', async (_what, scope) => {
    const input = makePermissionInput(company, {
      ...makeTarget(scope),
      actions: ['read', 'create', 'update', 'delete', '*'],
    });
    const { status, body } = await createPermissionFrom(input);
    expect([status, body]).toEqual([
      201,
      {
        ...input,
        _id: expect.stringMatching(/^[a-f0-9]{24}$/),
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect((await company.as.get(`/v1/permissions/${body._id}`)).body).toEqual(body);
  });

  it.each([
    [{ name: 'ab' }, 'name'],
    [{ description: 'nine char' }, 'description'],
    [{ actions: [] }, 'actions'],
    [{ target: { company_id: 'ABCDEFABCDEFABCDEFABCDEF' } }, 'target.company_id'],
    [{ target: { company_id: 'short' } }, 'target.company_id'],
  ])('with %j is not valid', async (wrongFields, field) => {
    expect(readInvalidFields(await createPermissionFrom(makePermissionInput(company, wrongFields)))).toEqual([
      422,
      'VALIDATION_ERROR',
      field,
    ]);
  });

  it.each([
    [{ service_name: 'content' }, 'target.service_name'],
    [{ service_name: 'users', service_id: 'x' }, 'target.service_id'],
    [{ service_id: UNKNOWN_ID }, 'target.service_name'],
  ])('for %j is not valid', async (scope, field) => {
    expect(readInvalidFields(await createPermissionFrom(makePermissionInput(company, makeTarget(scope))))).toEqual([
      422,
      'VALIDATION_ERROR',
      field,
    ]);
  });

  it('is refused for another company or all companies', async () => {
    const other = await createOwnedCompany();
    const id = await createPermission(company);
    for (const company_id of ['*', other.id]) {
      const json = makePermissionInput(company, { target: { company_id } });
      expect(readStatusAndCode(await createPermissionFrom(json))).toEqual([403, 'FORBIDDEN']);
      expect(readStatusAndCode(await company.as.put(`/v1/permissions/${id}`, { json }))).toEqual([403, 'FORBIDDEN']);
    }
    expect((await company.as.get(`/v1/permissions/${id}`)).body.target.company_id).toBe(company.id);
  });

  it('changes only the fields that are sent', async () => {
    const permissionBefore = (await createPermissionFrom(makePermissionInput(company))).body;
    const putPermission = async (json: object) =>
      (await company.as.put(`/v1/permissions/${permissionBefore._id}`, { json })).body;
    expect(await putPermission({ name: 'Another' })).toEqual({
      ...permissionBefore,
      name: 'Another',
      updated_at: expect.any(String),
    });
    expect(await putPermission({ actions: ['*'] })).toMatchObject({
      name: 'Another',
      actions: ['*'],
      target: permissionBefore.target,
    });
    expect(await putPermission(makeTarget({}))).toMatchObject({ actions: ['*'], target: { company_id: company.id } });
    expect(await putPermission({})).toMatchObject({ name: 'Another', description: permissionBefore.description });
    const invalidAnswer = await company.as.put(`/v1/permissions/${permissionBefore._id}`, {
      json: { name: 'x', actions: [] },
    });
    expect(readInvalidFields(invalidAnswer).toSorted()).toEqual([422, 'VALIDATION_ERROR', 'actions', 'name']);
  });

  it('is deleted once, and removed from every group', async () => {
    const id = await createPermission(company);
    const group = await createConsoleGroup(company, { permissionIds: [id] });
    const { as, id: userId } = await createAllowedUser(company);
    await addToGroups(company, userId, group._id);
    expect((await as.get('/v1/users')).status).toBe(200);
    expect((await company.as.delete(`/v1/permissions/${id}`)).status).toBe(204);
    expect(readStatusAndCode(await company.as.delete(`/v1/permissions/${id}`))).toEqual([404, 'PERMISSION_NOT_FOUND']);
    expect((await as.get('/v1/users')).status).toBe(403);
    expect((await company.as.get(`/v1/groups/${group._id}`)).body.permissionIds).toEqual([]);
  });

  it('that names a resource gives access to that resource only', async () => {
    const { _id: group } = await createConsoleGroup(company, {
      permissionIds: [
        await createPermission(company, makeTarget({ service_name: 'users', service_id: company.owner.id })),
      ],
    });
    const { as, id } = await createAllowedUser(company);
    await addToGroups(company, id, group);
    expect((await as.get(`/v1/users/${company.owner.id}`)).status).toBe(200);
    expect((await as.get(`/v1/users/${id}`)).status).toBe(403);
    expect((await as.get('/v1/users')).status).toBe(403);
  });

  it('that the operator made for all companies gives access, too', async () => {
    const id = await createPermission(company);
    await runSql(`update permissions set target = '{"company_id":"*"}' where id = ?`, id);
    const { _id: group } = await createConsoleGroup(company, { permissionIds: [id] });
    const user = await createAllowedUser(company);
    await addToGroups(company, user.id, group);
    expect((await user.as.get('/v1/groups')).status).toBe(200);
    const renameAnswer = await company.as.put(`/v1/permissions/${id}`, { json: { name: 'Everywhere' } });
    expect([renameAnswer.status, renameAnswer.body.target]).toEqual([200, { company_id: '*' }]);
  });
});

it('the list of permissions contains all permissions of the company, also in pages', async () => {
  const crowdedCompany = await createOwnedCompany();
  const createdIds: string[] = [];
  for (let count = 0; count < 21; count += 1) createdIds.push(await createPermission(crowdedCompany));
  const wholeList = await expectSuccess(crowdedCompany.as.get('/v1/permissions'));
  expect([wholeList.total, wholeList.quantity]).toEqual([21, 21]);
  const listIds = (list: { records: { _id: string }[] }) => list.records.map(({ _id }) => _id);
  expect(listIds(wholeList).toSorted()).toEqual(createdIds.toSorted());
  const pages = [];
  for (const page of [1, 2, 3])
    pages.push(...listIds(await expectSuccess(crowdedCompany.as.get(`/v1/permissions?page=${page}&per_page=8`))));
  expect(pages).toEqual(listIds(wholeList));
});
