import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { createDirectory, GROUPS_PATH, listMemberIds, USERS_PATH } from './support.ts';

/** This file tests requests of SCIM clients, as the clients' vendors document them. */

const directory = await createDirectory(await createOwnedCompany());

const SCIM_HEADERS = { 'content-type': 'application/scim+json; charset=utf-8' };
const sendRecorded = (method: 'post' | 'put' | 'patch', path: string, json: unknown) =>
  directory[method](path, { body: JSON.stringify(json), headers: SCIM_HEADERS });
const mustSend = (method: 'post' | 'put' | 'patch', path: string, json: unknown) =>
  expectSuccess(sendRecorded(method, path, json));
const findResource = (path: string, filter: string, extraQuery = '') =>
  expectSuccess(directory.get(`${path}?filter=${encodeURIComponent(filter).replaceAll('%20', '+')}${extraQuery}`));

const PATCH_OP = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];

describe('Microsoft Entra ID as a SCIM client', () => {
  const USER_PRINCIPAL_NAME = 'Test_User_dfeef4c5-5681-4387-b016-bdf221e82081@contoso.example';
  const EXTERNAL_ID = '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef';
  let id: string;

  it('tests the connection by a search for an unknown user', async () => {
    const answer = await findResource(USERS_PATH, `userName eq "${crypto.randomUUID()}"`);
    expect(answer).toMatchObject({ totalResults: 0, Resources: [], startIndex: 1 });
  });

  it('searches for a user, makes one, and finds it by a filter in another case', async () => {
    expect((await findResource(USERS_PATH, `userName eq "${USER_PRINCIPAL_NAME}"`)).totalResults).toBe(0);
    const body = await mustSend('post', USERS_PATH, {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:User',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
      ],
      externalId: EXTERNAL_ID,
      userName: USER_PRINCIPAL_NAME,
      active: true,
      displayName: 'Test User',
      emails: [{ primary: true, type: 'work', value: 'newemail@contoso.example' }],
      meta: { resourceType: 'User' },
      name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
      roles: [],
      addresses: [{ type: 'work', country: 'BR', formatted: 'Rua 1' }],
      preferredLanguage: 'pt-BR',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { employeeNumber: '17', department: 'Sales' },
    });
    id = body.id;
    expect(body).toMatchObject({
      userName: USER_PRINCIPAL_NAME.toLowerCase(),
      externalId: EXTERNAL_ID,
      active: true,
      displayName: 'Test User',
    });
    for (const filter of [
      `userName eq "${USER_PRINCIPAL_NAME.toUpperCase()}"`,
      `username Eq "${USER_PRINCIPAL_NAME}"`,
      `externalId eq "${EXTERNAL_ID}"`,
      `emails[type eq "work"].value eq "${USER_PRINCIPAL_NAME}"`,
      `emails[type eq "work"] and userName sw "test_user_dfeef4c5"`,
    ])
      expect((await findResource(USERS_PATH, filter)).Resources.map((user: { id: string }) => user.id)).toEqual([id]);
  });

  it('patches attributes one by one with capitalized operations, and some that are not stored', async () => {
    const body = await mustSend('patch', `${USERS_PATH}/${id}`, {
      schemas: PATCH_OP,
      Operations: [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@contoso.example' },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
        { op: 'Add', path: 'title', value: 'Boss' },
        { op: 'Add', path: 'addresses[type eq "work"].formatted', value: 'Rua 2' },
        { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager', value: id },
        { op: 'Remove', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department' },
        { op: 'Replace', path: 'displayName', value: 'Updated User' },
      ],
    });
    expect(body).toMatchObject({ displayName: 'Updated User', userName: USER_PRINCIPAL_NAME.toLowerCase() });
    expect(body.emails).toEqual([{ value: USER_PRINCIPAL_NAME.toLowerCase(), type: 'work', primary: true }]);
  });

  it('changes nothing by patching the parts of a name that the display name is not made of', async () => {
    const user = await mustSend('post', USERS_PATH, {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'smith@contoso.example',
      displayName: 'Smith, John',
      name: { formatted: 'John Smith', familyName: 'Smith', givenName: 'John' },
    });
    const patchName = (names: Record<string, string>) =>
      mustSend('patch', `${USERS_PATH}/${user.id}`, {
        schemas: PATCH_OP,
        Operations: Object.entries(names).map(([path, value]) => ({ op: 'Replace', path, value })),
      });
    expect(await patchName({ 'name.formatted': 'John Smith' })).toEqual(user);
    expect(await patchName({ 'name.givenName': 'John', 'name.familyName': 'Smith' })).toEqual(user);
    expect(await patchName({ 'name.givenName': 'Johnny' })).toEqual(user);
    const renamedUser = await patchName({ 'name.givenName': 'Jo', displayName: 'Smith, Jo' });
    expect(renamedUser.displayName).toBe('Smith, Jo');
    expect(await patchName({ 'name.formatted': 'Jo Smith' })).toEqual(renamedUser);
  });

  it('patches several attributes at once, without a path and with dotted names', async () => {
    const operations = {
      schemas: PATCH_OP,
      Operations: [
        {
          op: 'Replace',
          value: {
            displayName: 'Bjfe',
            'name.givenName': 'Kaiser',
            'name.familyName': 'Soze',
            externalId: 'ext-2',
            active: 'True',
            'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department': 'Ops',
          },
        },
      ],
    };
    const body = await mustSend('patch', `${USERS_PATH}/${id}`, operations);
    expect(body).toMatchObject({ displayName: 'Bjfe', externalId: 'ext-2', active: true });
    expect(await mustSend('patch', `${USERS_PATH}/${id}`, operations)).toEqual(body);
  });

  it('deactivates a user, finds them as inactive, and reactivates them', async () => {
    const setActive = (value: unknown) =>
      mustSend('patch', `${USERS_PATH}/${id}`, {
        schemas: PATCH_OP,
        Operations: [{ op: 'Replace', path: 'active', value }],
      });
    expect((await setActive('False')).active).toBe(false);
    expect((await findResource(USERS_PATH, `userName eq "${USER_PRINCIPAL_NAME}"`)).Resources[0]).toMatchObject({
      id,
      active: false,
    });
    expect((await setActive('True')).active).toBe(true);
    expect((await setActive(false)).active).toBe(false);
    expect((await setActive(true)).active).toBe(true);
  });

  it('makes a group, reads it without its members, and searches for a single member', async () => {
    const group = await mustSend('post', GROUPS_PATH, {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:Group',
        'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
      ],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'displayName',
      meta: { resourceType: 'Group' },
    });
    expect(
      await expectSuccess(directory.get(`${GROUPS_PATH}/${group.id}?excludedAttributes=members`)),
    ).not.toHaveProperty('members');
    expect(
      (await findResource(GROUPS_PATH, 'displayName eq "displayName"', '&excludedAttributes=members')).totalResults,
    ).toBe(1);
    const addPatch = {
      schemas: PATCH_OP,
      Operations: [{ op: 'Add', path: 'members', value: [{ $ref: null, value: id }] }],
    };
    await mustSend('patch', `${GROUPS_PATH}/${group.id}`, addPatch);
    expect((await findResource(GROUPS_PATH, `id eq "${group.id}" and members eq "${id}"`)).totalResults).toBe(1);
    const removePatch = {
      schemas: PATCH_OP,
      Operations: [{ op: 'Remove', path: 'members', value: [{ $ref: null, value: id }] }],
    };
    expect((await mustSend('patch', `${GROUPS_PATH}/${group.id}`, removePatch)).members).toEqual([]);
    expect((await findResource(GROUPS_PATH, `id eq "${group.id}" and members eq "${id}"`)).totalResults).toBe(0);
    const renamePatch = { schemas: PATCH_OP, Operations: [{ op: 'Replace', path: 'displayName', value: 'renamed' }] };
    expect((await mustSend('patch', `${GROUPS_PATH}/${group.id}`, renamePatch)).displayName).toBe('renamed');
    expect((await directory.delete(`${GROUPS_PATH}/${group.id}`)).status).toBe(204);
  });

  it('deletes a user for good', async () => {
    expect((await directory.delete(`${USERS_PATH}/${id}`)).status).toBe(204);
    expect((await directory.get(`${USERS_PATH}/${id}`)).status).toBe(404);
    expect((await findResource(USERS_PATH, `userName eq "${USER_PRINCIPAL_NAME}"`)).totalResults).toBe(0);
  });
});

describe('Okta as a SCIM client', () => {
  const profile = {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: 'test.user@okta.local',
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
  };
  let id: string;

  it('searches for a user by name, 100 a page, and makes one with a password that is not stored', async () => {
    const filter = `userName eq "${profile.userName}"`;
    expect((await findResource(USERS_PATH, filter, '&startIndex=1&count=100')).totalResults).toBe(0);
    ({ id } = await mustSend('post', USERS_PATH, profile));
    const { Resources } = await findResource(USERS_PATH, filter, '&startIndex=1&count=100');
    expect(Resources).toEqual([
      expect.objectContaining({ id, displayName: 'Test User', externalId: profile.externalId }),
    ]);
    expect(JSON.stringify(Resources)).not.toContain('1mz050nq');
  });

  it('replaces a whole user as it was read, with one change', async () => {
    const userRecord = await expectSuccess(directory.get(`${USERS_PATH}/${id}`));
    const json = { ...userRecord, displayName: 'Another User', name: { givenName: 'Another', familyName: 'User' } };
    const body = await mustSend('put', `${USERS_PATH}/${id}`, json);
    expect(body).toMatchObject({ displayName: 'Another User', groups: [] });
    expect(await mustSend('put', `${USERS_PATH}/${id}`, json)).toEqual(body);
  });

  it('sets a name by PUT of its parts alone, whatever the display name was', async () => {
    const { displayName: _, ...json } = { ...profile, name: { givenName: 'Only', familyName: 'Parts' } };
    const body = await mustSend('put', `${USERS_PATH}/${id}`, json);
    expect(body.displayName).toBe('Only Parts');
    expect(await mustSend('put', `${USERS_PATH}/${id}`, json)).toEqual(body);
  });

  it('deactivates a user by PATCH without a path, and activates it by PUT', async () => {
    const deactivatePatch = { schemas: PATCH_OP, Operations: [{ op: 'replace', value: { active: false } }] };
    expect((await mustSend('patch', `${USERS_PATH}/${id}`, deactivatePatch)).active).toBe(false);
    expect((await mustSend('put', `${USERS_PATH}/${id}`, { ...profile, id, active: true })).active).toBe(true);
  });

  it('pushes a group: makes, renames, and replaces it by PUT or PATCH', async () => {
    const group = await mustSend('post', GROUPS_PATH, {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: 'Test SCIMv2',
      members: [],
    });
    const member = { value: id, display: 'test.user@okta.local' };
    const wholeGroup = { schemas: group.schemas, id: group.id, displayName: 'Test SCIMv2', members: [member] };
    expect(listMemberIds(await mustSend('put', `${GROUPS_PATH}/${group.id}`, wholeGroup))).toEqual([id]);
    const renameOperation = { op: 'replace', value: { id: group.id, displayName: 'Test SCIMv2b' } };
    expect(
      await mustSend('patch', `${GROUPS_PATH}/${group.id}`, { schemas: PATCH_OP, Operations: [renameOperation] }),
    ).toMatchObject({
      displayName: 'Test SCIMv2b',
      members: [expect.objectContaining({ value: id })],
    });
    const removeOperation = { op: 'remove', path: `members[value eq "${id}"]` };
    const addOperation = { op: 'add', path: 'members', value: [member] };
    const combinedPatch = { schemas: PATCH_OP, Operations: [removeOperation, addOperation] };
    expect(listMemberIds(await mustSend('patch', `${GROUPS_PATH}/${group.id}`, combinedPatch))).toEqual([id]);
    expect((await expectSuccess(directory.get(`${GROUPS_PATH}?startIndex=1&count=100`))).Resources).toContainEqual(
      expect.objectContaining({ id: group.id, displayName: 'Test SCIMv2b' }),
    );
  });
});

describe('Google as a SCIM client', () => {
  it('makes users with names only, finds, replaces and suspends them', async () => {
    const userName = 'liz@google.example';
    expect((await findResource(USERS_PATH, `userName eq "${userName}"`)).totalResults).toBe(0);
    const json = {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:User',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
      ],
      userName,
      name: { givenName: 'Liz', familyName: 'Lee' },
      emails: [{ value: userName, type: 'work', primary: true }],
      externalId: '108279381023489761234',
      active: true,
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { organization: 'Org' },
    };
    const user = await mustSend('post', USERS_PATH, json);
    expect(user.displayName).toBe('Liz Lee');
    expect(await mustSend('put', `${USERS_PATH}/${user.id}`, { ...json, id: user.id })).toEqual(user);
    expect((await mustSend('put', `${USERS_PATH}/${user.id}`, { ...json, active: false })).active).toBe(false);
    const activatePatch = { schemas: PATCH_OP, Operations: [{ op: 'replace', path: 'active', value: true }] };
    expect((await mustSend('patch', `${USERS_PATH}/${user.id}`, activatePatch)).active).toBe(true);
  });
});

describe('Authentik as a SCIM client', () => {
  it('reads the supported features, and updates users and groups by PUT and PATCH', async () => {
    const serviceConfig = await expectSuccess(directory.get('/scim/v2/ServiceProviderConfig'));
    expect([serviceConfig.patch.supported, serviceConfig.bulk.supported, serviceConfig.filter.supported]).toEqual([
      true,
      false,
      true,
    ]);
    const json = {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      externalId: '4a2c7cd0b6e8',
      userName: 'akadmin@authentik.example',
      name: { formatted: 'authentik Default Admin', givenName: 'authentik', familyName: 'Default Admin' },
      displayName: 'authentik Default Admin',
      photos: [],
      locale: null,
      active: true,
      emails: [{ value: 'akadmin@authentik.example', type: 'other', primary: true }],
    };
    const user = await mustSend('post', USERS_PATH, json);
    expect(await mustSend('put', `${USERS_PATH}/${user.id}`, { ...json, id: user.id })).toEqual(user);
    const namedUser = {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      externalId: 'g-1',
      displayName: 'authentik Admins',
    };
    const group = await mustSend('post', GROUPS_PATH, namedUser);
    const makeOperation = (op: string) => ({
      schemas: PATCH_OP,
      Operations: [{ op, path: 'members', value: [{ value: user.id }] }],
    });
    const filledGroup = await mustSend('patch', `${GROUPS_PATH}/${group.id}`, makeOperation('add'));
    expect(listMemberIds(filledGroup)).toEqual([user.id]);
    // A PUT without members is about the rest.
    expect(await mustSend('put', `${GROUPS_PATH}/${group.id}`, { ...namedUser, id: group.id })).toEqual(filledGroup);
    expect((await mustSend('patch', `${GROUPS_PATH}/${group.id}`, makeOperation('remove'))).members).toEqual([]);
  });
});
