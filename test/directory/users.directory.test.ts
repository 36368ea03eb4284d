import { describe, expect, it } from 'vitest';
import { BASE_URL, callApi, createCaller } from '../support/api.ts';
import { createOwnedCompany, logIn } from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { createRacingEnv } from '../support/race.ts';
import {
  bindUser,
  createAllowedAccount,
  createGrouplessUser,
  createSecretCaller,
  createSignedCaller,
  createTokenCaller,
  expectSuccess,
  makeAllow,
} from '../support/signed.ts';
import {
  createDirectory,
  createDirectoryGroup,
  createDirectoryUser,
  ERROR_SCHEMA,
  GROUPS_PATH,
  makePatch,
  makeUserInput,
  readRefusal,
  USER_SCHEMA,
  USERS_PATH,
} from './support.ts';

const company = await createOwnedCompany();
const directory = await createDirectory(company);
const { Resources } = await expectSuccess(directory.get(`${USERS_PATH}?count=1`));
const owner: string = Resources[0].id;

const readUser = (id: string) => expectSuccess(directory.get(`${USERS_PATH}/${id}`));

describe('a SCIM user', () => {
  it('is made without a password, active, and in the form of SCIM', async () => {
    const input = makeUserInput({ userName: 'Ana.Souza@Example.com', displayName: 'Ana Souza' });
    const { status, headers, body } = await directory.post(USERS_PATH, { json: input });
    const location = `${BASE_URL}${USERS_PATH}/${body.id}`;
    expect([status, body]).toEqual([
      201,
      {
        schemas: [USER_SCHEMA],
        id: expect.stringMatching(/^[a-f0-9]{24}$/),
        externalId: input.externalId,
        userName: 'ana.souza@example.com',
        displayName: 'Ana Souza',
        name: { formatted: 'Ana Souza' },
        active: true,
        emails: [{ value: 'ana.souza@example.com', type: 'work', primary: true }],
        groups: [],
        meta: {
          resourceType: 'User',
          created: expect.stringMatching(/Z$/),
          lastModified: expect.stringMatching(/Z$/),
          location,
          version: expect.stringMatching(/^"/),
        },
      },
    ]);
    expect(headers.get('content-type')).toBe('application/scim+json');
    expect([headers.get('location'), headers.get('etag')]).toEqual([location, body.meta.version]);
    const foundAnswer = await directory.get(`${USERS_PATH}/${body.id}`);
    expect([foundAnswer.body, foundAnswer.headers.get('etag')]).toEqual([body, body.meta.version]);
    expect(await expectSuccess(company.as.get(`/v1/users/${body.id}`))).toMatchObject({
      email: 'ana.souza@example.com',
      name: 'Ana Souza',
      status: 'active',
    });
  });

  it.each([
    [{ displayName: 'Display', name: { formatted: 'Formatted', givenName: 'G', familyName: 'F' } }, 'Display'],
    [{ name: { formatted: 'Formatted', givenName: 'G', familyName: 'F' } }, 'Formatted'],
    [{ name: { givenName: 'Given', familyName: 'Family' } }, 'Given Family'],
    [{ name: { givenName: 'Given' } }, 'Given'],
    [{ displayName: '', name: { familyName: 'Family' } }, 'Family'],
    [{ DisplayName: 'Any case' }, 'Any case'],
    [{ [`${USER_SCHEMA}:displayName`]: 'With its schema' }, 'With its schema'],
  ])('gets the display name from %j', async (names, name) => {
    const { displayName: _, ...input } = makeUserInput();
    expect(await expectSuccess(directory.post(USERS_PATH, { json: { ...input, ...names } }))).toMatchObject({
      displayName: name,
    });
  });

  it('gets the display name from the user name if no name was sent', async () => {
    const user = await createDirectoryUser(directory, { displayName: undefined, userName: 'only@example.com' });
    expect(user.displayName).toBe('only');
  });

  it('may be sent with all attributes of the RFC, and has only the user name as email', async () => {
    const user = await createDirectoryUser(directory, {
      userName: 'whole@example.com',
      emails: [{ value: 'other@example.com', type: 'home', primary: true }],
      title: 'Head',
      phoneNumbers: [{ value: '1' }],
      password: 'not-kept-at-all-1',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'D', manager: { value: 'x' } },
      'urn:of:somebody:2.0:Else': { any: [{ thing: 1 }] },
      unheard: { of: true },
    });
    expect(user.emails).toEqual([{ value: 'whole@example.com', type: 'work', primary: true }]);
    expect(JSON.stringify(await readUser(user.id))).not.toMatch(/other@|Head|not-kept|department|unheard/);
  });

  it.each([
    [{ userName: undefined }, 'userName'],
    [{ userName: 'no address' }, 'userName'],
    [{ userName: 7 }, 'userName'],
    [{ active: 'maybe' }, 'active'],
    [{ displayName: 'x'.repeat(201) }, 'displayName'],
    [{ displayName: { a: 1 } }, 'displayName'],
    [{ externalId: 'x'.repeat(256) }, 'externalId'],
    [{ externalId: 5 }, 'externalId'],
    [{ name: 'flat' }, 'name'],
  ])('cannot be made with %j', async (wrongFields, expectedField) => {
    const { status, body } = await directory.post(USERS_PATH, { json: makeUserInput(wrongFields) });
    expect([status, body]).toEqual([
      400,
      {
        schemas: [ERROR_SCHEMA],
        status: '400',
        scimType: 'invalidValue',
        detail: expect.stringContaining(expectedField),
      },
    ]);
  });

  it('is made once per userName and per externalId', async () => {
    const first = await createDirectoryUser(directory);
    const { userName, externalId } = first;
    expect(
      readRefusal(await directory.post(USERS_PATH, { json: makeUserInput({ userName: userName.toUpperCase() }) })),
    ).toEqual([409, 'uniqueness']);
    expect(readRefusal(await directory.post(USERS_PATH, { json: makeUserInput({ externalId }) }))).toEqual([
      409,
      'uniqueness',
    ]);
    const otherUser = await createDirectoryUser(directory);
    const takenIdPatch = makePatch({ op: 'replace', path: 'externalId', value: externalId });
    expect(readRefusal(await directory.patch(`${USERS_PATH}/${otherUser.id}`, takenIdPatch))).toEqual([
      409,
      'uniqueness',
    ]);
    await expectSuccess(directory.delete(`${USERS_PATH}/${first.id}`));
    expect(
      await expectSuccess(directory.post(USERS_PATH, { json: makeUserInput({ userName, externalId }) })),
    ).toMatchObject({
      userName,
      externalId,
    });
  });

  it('is not found by another company, which may use the same externalId', async () => {
    const user = await createDirectoryUser(directory);
    const otherDirectory = await createDirectory(await createOwnedCompany());
    expect(await createDirectoryUser(otherDirectory, { externalId: user.externalId })).toMatchObject({
      externalId: user.externalId,
    });
    expect((await expectSuccess(otherDirectory.get(`${USERS_PATH}?filter=id eq "${user.id}"`))).totalResults).toBe(0);
  });

  it('is replaced by PUT, and keeps fields that are not sent', async () => {
    const user = await createDirectoryUser(directory);
    const json = { userName: 'renamed@example.com', name: { givenName: 'New', familyName: 'Name' } };
    const { body } = await directory.put(`${USERS_PATH}/${user.id}`, { json });
    expect(body).toMatchObject({
      displayName: 'New Name',
      userName: 'renamed@example.com',
      externalId: user.externalId,
    });
    expect(readRefusal(await directory.put(`${USERS_PATH}/${user.id}`, { json: { displayName: 'x' } }))).toEqual([
      400,
      'invalidValue',
    ]);
  });

  it('is not written if nothing differs', async () => {
    const input = makeUserInput();
    const user = await expectSuccess(directory.post(USERS_PATH, { json: input }));
    const replacedUser = await expectSuccess(directory.put(`${USERS_PATH}/${user.id}`, { json: input }));
    const patchedUser = await expectSuccess(
      directory.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'replace', value: { ...input, active: 'True' } })),
    );
    expect([replacedUser, patchedUser]).toEqual([user, user]);
  });

  it('is deleted, and then not found', async () => {
    const user = await createDirectoryUser(directory);
    expect((await directory.delete(`${USERS_PATH}/${user.id}`)).status).toBe(204);
    expect(readRefusal(await directory.get(`${USERS_PATH}/${user.id}`))).toEqual([404, undefined]);
    expect(readRefusal(await directory.delete(`${USERS_PATH}/${user.id}`))).toEqual([404, undefined]);
  });
});

describe('PATCH of a SCIM user', () => {
  it.each([
    [[{ op: 'replace', path: 'displayName', value: 'By path' }], { displayName: 'By path' }],
    [[{ op: 'Add', path: 'name.formatted', value: 'Formatted' }], { displayName: 'Formatted' }],
    [
      [{ op: 'REPLACE', value: { 'name.givenName': 'Dotted', 'name.familyName': 'Name' } }],
      { displayName: 'Dotted Name' },
    ],
    [[{ op: 'replace', path: `${USER_SCHEMA}:displayName`, value: 'By URN' }], { displayName: 'By URN' }],
    [[{ op: 'replace', path: USER_SCHEMA, value: { displayName: 'Schema' } }], { displayName: 'Schema' }],
    [[{ op: 'Replace', path: 'active', value: 'False' }], { active: false }],
    [[{ op: 'replace', path: 'ACTIVE', value: false }], { active: false }],
    [[{ op: 'replace', path: 'externalId', value: 'patched-id' }], { externalId: 'patched-id' }],
    [[{ op: 'replace', path: 'emails[type eq "work"].value', value: 'z@example.com' }], {}],
    [[{ op: 'add', path: 'addresses[type eq "work"].country', value: 'BR' }], {}],
    [[{ op: 'add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'D' }], {}],
    [[{ op: 'remove', path: 'title' }], {}],
    [[{ op: 'add', path: 'surprise', value: { of: 1 } }], {}],
    [[{ op: 'replace', value: { surprise: [1], 'sur.prise': 2, constructor: 3 } }], {}],
    [[{ op: 'remove', path: 'emails[type eq "home"]' }], {}],
    [[{ op: 'replace', value: { id: 'another', schemas: [], 'emails[type eq "work"].value': 'z@example.com' } }], {}],
  ])('applies %j', async (operations, changes) => {
    const user = await createDirectoryUser(directory, {
      externalId: undefined,
      displayName: undefined,
      name: { givenName: 'Ana', familyName: 'Souza' },
    });
    const { meta: _, name, ...before } = user;
    const { status, body } = await directory.patch(`${USERS_PATH}/${user.id}`, makePatch(...operations));
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...before, ...changes });
    if (!('displayName' in changes)) expect(body.name).toEqual(name);
  });

  it('removes the externalId', async () => {
    const user = await createDirectoryUser(directory);
    const body = await expectSuccess(
      directory.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'remove', path: 'externalId' })),
    );
    expect(body).not.toHaveProperty('externalId');
  });

  it('changes one part of a name and keeps the other parts, also when it is repeated', async () => {
    const user = await createDirectoryUser(directory, {
      displayName: undefined,
      name: { givenName: 'Ana', familyName: 'Souza Lima' },
    });
    const changeName = (path: string, value: string) =>
      expectSuccess(directory.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'replace', path, value })));
    expect((await changeName('name.givenName', 'Bia Maria')).displayName).toBe('Bia Maria Souza Lima');
    const secondChange = await changeName('name.givenName', 'Bia Maria');
    expect(secondChange.displayName).toBe('Bia Maria Souza Lima');
    expect((await changeName('name.familyName', 'Reis')).displayName).toBe('Bia Reis');
    expect((await changeName('name.familyName', 'Reis')).displayName).toBe('Bia Reis');
  });

  it.each([
    [{}, 'invalidSyntax'],
    [{ Operations: [] }, 'invalidSyntax'],
    [{ Operations: 'x' }, 'invalidSyntax'],
    [{ Operations: [7] }, 'invalidSyntax'],
    [{ Operations: [{ op: 'move', path: 'active' }] }, 'invalidSyntax'],
    [{ Operations: Array.from({ length: 1001 }, () => ({ op: 'remove', path: 'title' })) }, 'invalidSyntax'],
    [{ Operations: [{ op: 'remove' }] }, 'noTarget'],
    [{ Operations: [{ op: 'replace', value: 'flat' }] }, 'invalidValue'],
    [{ Operations: [{ op: 'replace', path: 'active[', value: true }] }, 'invalidPath'],
    [{ Operations: [{ op: 'replace', path: 7, value: true }] }, 'invalidPath'],
    [{ Operations: [{ op: 'replace', path: `a${'[b eq 1'.repeat(10_000)}`, value: true }] }, 'invalidPath'],
    [{ Operations: [{ op: 'replace', path: 'id', value: 'x' }] }, 'mutability'],
    [{ Operations: [{ op: 'replace', path: 'meta.created', value: 'x' }] }, 'mutability'],
    [{ Operations: [{ op: 'add', path: 'groups', value: [] }] }, 'mutability'],
    [{ Operations: [{ op: 'remove', path: 'userName' }] }, 'invalidValue'],
    [{ Operations: [{ op: 'replace', path: 'userName', value: '' }] }, 'invalidValue'],
    [{ Operations: [{ op: 'replace', path: 'active', value: [] }] }, 'invalidValue'],
  ])('refuses %.100j', async (json, scimType) => {
    const user = await createDirectoryUser(directory);
    expect(readRefusal(await directory.patch(`${USERS_PATH}/${user.id}`, { json }))).toEqual([400, scimType]);
    expect(await readUser(user.id)).toEqual(user);
  });
});

describe('a change of a SCIM user to inactive or active', () => {
  const readInvitationToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token');

  it('ends the sessions on the next request, and lets the user sign in again', async () => {
    const { id, email, password } = await createGrouplessUser(company);
    const { token } = await expectSuccess(logIn(company.slug, email, password));
    expect((await createCaller(token).get('/v1/auth/me')).status).toBe(200);
    await expectSuccess(
      directory.patch(`${USERS_PATH}/${id}`, makePatch({ op: 'Replace', path: 'active', value: 'False' })),
    );
    expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    expect(await expectSuccess(company.as.get(`/v1/users/${id}`))).toMatchObject({ status: 'inactive' });
    await expectSuccess(
      directory.patch(`${USERS_PATH}/${id}`, makePatch({ op: 'Replace', path: 'active', value: 'True' })),
    );
    expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    expect((await logIn(company.slug, email, password)).status).toBe(200);
  });

  it('is refused for users who are only invited, and so is a new address for them', async () => {
    const { id } = (await inviteUser(company, 'guest@example.com')).user;
    expect(await readUser(id)).toMatchObject({ active: false });
    const activatePatch = makePatch({ op: 'replace', path: 'active', value: true });
    expect((await directory.patch(`${USERS_PATH}/${id}`, activatePatch)).status).toBe(409);
    const addressPatch = makePatch({ op: 'replace', path: 'userName', value: 'elsewhere@example.com' });
    expect((await directory.patch(`${USERS_PATH}/${id}`, addressPatch)).status).toBe(409);
  });

  it.each(['patch', 'put'] as const)(
    'to inactive ends the invitation of a user who is only invited, who can be invited again: %s',
    async (method) => {
      const email = `leaving-by-${method}@example.com`;
      const { user } = await inviteUser(company, email);
      const token = readInvitationToken(email);
      const path = `${USERS_PATH}/${user.id}`;
      const requestOptions =
        method === 'put'
          ? { json: { schemas: [USER_SCHEMA], userName: email, active: false } }
          : makePatch({ op: 'Replace', path: 'active', value: 'False' });
      const acceptInvitation = (token: string | null) =>
        callApi('POST', '/v1/users/accept-invitation', { json: { token, password: 'chosen-by-the-invited' } });

      const forbiddenCaller = createSecretCaller(await createAllowedAccount(company, makeAllow('users:update')));
      expect((await forbiddenCaller[method](path, requestOptions)).status).toBe(403);
      const refusedJson = { schemas: [USER_SCHEMA], userName: `other-${email}`, active: false };
      expect((await directory.put(path, { json: refusedJson })).status).toBe(409);
      expect((await callApi('GET', `/v1/users/invitation?token=${token}`)).status).toBe(200);
      const changedUser = await directory[method](path, requestOptions);
      expect([changedUser.status, changedUser.body.active]).toEqual([200, false]);
      const query = new URLSearchParams({
        correlation_id: changedUser.headers.get('x-correlation-id') as string,
      });
      await expect
        .poll(async () => (await expectSuccess(company.as.get(`/v1/audit-events?${query}`))).records)
        .toMatchObject([{ action: 'users:deactivate', resource_id: user.id }]);
      expect(await acceptInvitation(token)).toMatchObject({ status: 400, body: { error: 'INVALID_INVITATION_TOKEN' } });
      // The same again changes nothing, not even the version.
      expect(await expectSuccess(directory[method](path, requestOptions))).toEqual(changedUser.body);

      expect(await expectSuccess(company.as.get(`/v1/users/${user.id}`))).toMatchObject({ status: 'invited' });
      const secondInvitation = await inviteUser(company, email);
      expect(secondInvitation.user.id).toBe(user.id);
      await expectSuccess(acceptInvitation(readInvitationToken(email)));
    },
  );
});

describe('the owner of a company', () => {
  it.each([
    ['PATCH', makePatch({ op: 'replace', path: 'active', value: false })],
    ['PATCH', makePatch({ op: 'Replace', value: { active: 'False', displayName: 'x' } })],
    ['PATCH', makePatch({ op: 'replace', path: 'userName', value: 'taken-over@example.com' })],
    ['DELETE', {}],
  ])('is neither deactivated, deleted nor given another address by SCIM: %s', async (method, requestOptions) => {
    const userBefore = await readUser(owner);
    const send = method === 'PATCH' ? directory.patch : directory.delete;
    expect(readRefusal(await send(`${USERS_PATH}/${owner}`, requestOptions))).toEqual([403, 'mutability']);
    expect(await readUser(owner)).toEqual(userBefore);
  });

  it('keeps the password reset link when SCIM is refused to set another address', async () => {
    // A reset ends sessions.
    const otherCompany = await createOwnedCompany();
    const { email, password } = otherCompany.owner;
    await expectSuccess(
      callApi('POST', '/v1/users/reset-password/request', { json: { company_slug: otherCompany.slug, email } }),
    );
    const token = readLink(readNewestMail(email)).searchParams.get('token');
    const other = makePatch({ op: 'replace', path: 'userName', value: 'elsewhere@example.com' });
    const refusedAnswer = await (await createDirectory(otherCompany)).patch(
      `${USERS_PATH}/${otherCompany.owner.id}`,
      other,
    );
    expect(readRefusal(refusedAnswer)).toEqual([403, 'mutability']);
    const confirmationAnswer = await callApi('POST', '/v1/users/reset-password/confirm', { json: { token, password } });
    expect(confirmationAnswer.status).toBe(200);
  });

  it('keeps all required attributes when PATCH removes them', async () => {
    const userBefore = await readUser(owner);
    for (const [operation, expected] of [
      [{ op: 'remove' }, [400, 'noTarget']],
      [{ op: 'remove', path: 'userName' }, [400, 'invalidValue']],
      [{ op: 'remove', path: 'id' }, [400, 'mutability']],
      [{ op: 'remove', path: 'active' }, [200, undefined]],
    ] as const)
      expect(readRefusal(await directory.patch(`${USERS_PATH}/${owner}`, makePatch(operation)))).toEqual(expected);
    expect(await readUser(owner)).toEqual(userBefore);
  });

  it('may leave a group by SCIM, and stays the owner', async () => {
    const group = await createDirectoryGroup(directory, { members: [{ value: owner }] });
    const leavePatch = makePatch({ op: 'remove', path: `members[value eq "${owner}"]` });
    expect((await expectSuccess(directory.patch(`${GROUPS_PATH}/${group.id}`, leavePatch))).members).toEqual([]);
    expect((await directory.delete(`${USERS_PATH}/${owner}`)).status).toBe(403);
    expect(await readUser(owner)).toMatchObject({ active: true });
  });

  it('can be renamed by SCIM like any user', async () => {
    const body = await expectSuccess(
      directory.patch(
        `${USERS_PATH}/${owner}`,
        makePatch({ op: 'replace', value: { displayName: 'The Owner', active: true } }),
      ),
    );
    expect(body).toMatchObject({ displayName: 'The Owner', active: true });
  });
});

describe('a new address of a SCIM user', () => {
  it('is set only by a client with all permissions of that user', async () => {
    const group = await createDirectoryGroup(directory);
    const policy = await expectSuccess(
      company.as.post('/v1/policies', {
        json: { name: 'Strong', document: { version: '2024-01-01', statements: [makeAllow('policies:create')] } },
      }),
    );
    await expectSuccess(company.as.post(`/v1/groups/${group.id}/policies/${policy._id}`));
    const user = await createDirectoryUser(directory);
    await bindUser(company, group.id, user.id);
    const limitedCaller = createSecretCaller(
      await createAllowedAccount(company, makeAllow('users:update', 'users:get')),
    );
    const addressPatch = makePatch({ op: 'replace', path: 'userName', value: 'mine@example.com' });
    expect((await limitedCaller.patch(`${USERS_PATH}/${user.id}`, addressPatch)).status).toBe(403);
    expect((await readUser(user.id)).userName).toBe(user.userName);
    const userWithoutPermissions = await createDirectoryUser(directory);
    expect((await limitedCaller.patch(`${USERS_PATH}/${userWithoutPermissions.id}`, addressPatch)).body.userName).toBe(
      'mine@example.com',
    );
  });
});

describe('the permissions of a SCIM client', () => {
  it.each([
    ['users:update', { path: 'displayName', value: 'x' }, 200],
    ['users:update', { path: 'active', value: false }, 403],
    ['users:activate', { path: 'active', value: false }, 403],
    ['users:deactivate', { path: 'active', value: false }, 200],
    ['users:deactivate', { path: 'displayName', value: 'x' }, 403],
    ['users:get', { path: 'active', value: false }, 403],
  ] as const)('with %s and a replacement of %j lead to the status %i', async (action, operation, status) => {
    const user = await createDirectoryUser(directory);
    const by = createSecretCaller(await createAllowedAccount(company, makeAllow(action, 'users:get')));
    const answer = await by.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'replace', ...operation }));
    expect(answer.status).toBe(status);
  });

  it('also apply with a service token, but neither with a session nor with a signed request', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('users:list'));
    expect((await (await createTokenCaller(serviceAccount)).get(USERS_PATH)).status).toBe(200);
    for (const by of [company.as, createCaller('none'), createSignedCaller(serviceAccount.key)]) {
      const { status, headers, body } = await by.get(USERS_PATH);
      expect([status, body]).toEqual([
        401,
        expect.objectContaining({ schemas: [ERROR_SCHEMA], status: '401', detail: expect.any(String) }),
      ]);
      expect(headers.get('content-type')).toBe('application/scim+json');
    }
  });
});

describe('the ETag of a SCIM user', () => {
  it('is the ETag of the whole user, whatever attributes are requested', async () => {
    const user = await createDirectoryUser(directory);
    const { headers, body } = await directory.get(`${USERS_PATH}/${user.id}?attributes=userName`);
    expect(body).toEqual({ schemas: [USER_SCHEMA], id: user.id, userName: user.userName });
    expect(headers.get('etag')).toBe(user.meta.version);
    const knownHeaders = { headers: { 'if-none-match': user.meta.version } };
    expect((await directory.get(`${USERS_PATH}/${user.id}`, knownHeaders)).status).toBe(304);
  });

  it('in If-Match prevents any change by any method if it is stale', async () => {
    const user = await createDirectoryUser(directory);
    const json = makeUserInput({ userName: user.userName });
    const staleHeaders = { headers: { 'if-match': user.meta.version } };
    const changedUser = await expectSuccess(directory.put(`${USERS_PATH}/${user.id}`, { json, ...staleHeaders }));
    for (const answer of [
      await directory.put(`${USERS_PATH}/${user.id}`, { json: { ...json, displayName: 'Stale' }, ...staleHeaders }),
      await directory.patch(`${USERS_PATH}/${user.id}`, {
        ...makePatch({ op: 'replace', path: 'displayName', value: 'S' }),
        ...staleHeaders,
      }),
      await directory.delete(`${USERS_PATH}/${user.id}`, staleHeaders),
    ])
      expect(readRefusal(answer)).toEqual([412, undefined]);
    expect(await readUser(user.id)).toEqual(changedUser);
    const currentHeaders = { headers: { 'if-match': `W/${changedUser.meta.version}` } };
    expect((await directory.delete(`${USERS_PATH}/${user.id}`, currentHeaders)).status).toBe(204);
  });

  it('prevents any change if it becomes stale during the request', async () => {
    const user = await createDirectoryUser(directory);
    const { env } = createRacingEnv(/^update "users"/, () =>
      expectSuccess(company.as.put(`/v1/users/${user.id}`, { json: { name: 'Rival' } })),
    );
    const requestOptions = { ...makePatch({ op: 'replace', path: 'displayName', value: 'Late' }), env };
    const { status } = await directory.patch(`${USERS_PATH}/${user.id}`, {
      ...requestOptions,
      headers: { 'if-match': user.meta.version },
    });
    expect([status, (await readUser(user.id)).displayName]).toEqual([412, 'Rival']);
  });
});

describe('the body of a SCIM request', () => {
  it.each([
    ['is not JSON', { body: '{', headers: { 'content-type': 'application/scim+json' } }, 'invalidSyntax'],
    ['has another content type', { body: '{}', headers: { 'content-type': 'text/plain' } }, 'invalidSyntax'],
    ['is a list', { json: [] }, 'invalidSyntax'],
    [
      'is nested too deeply',
      { body: '['.repeat(101) + ']'.repeat(101), headers: { 'content-type': 'application/json' } },
      'invalidSyntax',
    ],
  ])('that %s is refused', async (_, requestOptions, scimType) => {
    expect(readRefusal(await directory.post(USERS_PATH, requestOptions))).toEqual([400, scimType]);
  });

  it('may have the content type application/scim+json', async () => {
    const requestOptions = {
      body: JSON.stringify(makeUserInput()),
      headers: { 'content-type': 'application/scim+json; charset=utf-8' },
    };
    expect((await directory.post(USERS_PATH, requestOptions)).status).toBe(201);
  });

  it('that is too large is refused with a SCIM error', async () => {
    const requestOptions = {
      body: `{"a":"${'x'.repeat(1024 * 1024)}"}`,
      headers: { 'content-type': 'application/json' },
    };
    expect(readRefusal(await directory.post(USERS_PATH, requestOptions))).toEqual([413, undefined]);
  });

  it('to an unknown path is answered with a SCIM error', async () => {
    const { status, body } = await callApi('GET', '/scim/v2/Nothing');
    expect([status, body]).toEqual([404, expect.objectContaining({ schemas: [ERROR_SCHEMA], status: '404' })]);
  });
});

describe('a SCIM failure about one attribute', () => {
  it("names SCIM's attribute, of users and of groups", async () => {
    const user = await createDirectoryUser(directory);
    const { id } = await createDirectoryUser(directory);
    const group = await createDirectoryGroup(directory, { externalId: 'group-of-failures' });
    const other = await createDirectoryGroup(directory);
    const invitedUser = (await inviteUser(company, 'guest-of-failures@example.com')).user;
    const failures = [
      [`${USERS_PATH}/${id}`, 'userName', user.userName, 'taken'],
      [`${USERS_PATH}/${id}`, 'externalId', user.externalId, 'taken'],
      [`${USERS_PATH}/${invitedUser.id}`, 'active', true, 'invited'],
      [`${USERS_PATH}/${invitedUser.id}`, 'userName', 'guest-elsewhere@example.com', 'invited'],
      [`${USERS_PATH}/${owner}`, 'active', false, 'is_owner'],
      [`${USERS_PATH}/${owner}`, 'userName', 'of-failures@example.com', 'is_owner'],
      [`${GROUPS_PATH}/${other.id}`, 'displayName', group.displayName, 'taken'],
      [`${GROUPS_PATH}/${other.id}`, 'externalId', group.externalId, 'taken'],
    ] as const;
    for (const [path, field, value, reason] of failures) {
      const { body } = await directory.patch(path, makePatch({ op: 'replace', path: field, value }));
      expect(body.details).toEqual({ field, reason });
    }
  });
});
