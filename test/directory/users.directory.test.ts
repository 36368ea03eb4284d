import { beforeAll, describe, expect, it } from 'vitest';
import { BASE_URL, type Caller, call, createCaller } from '../support/api.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { createRivalEnv } from '../support/rival.ts';
import {
  allow,
  aServiceAccountThat,
  aUser,
  bind,
  must,
  signed,
  withSecret,
  withServiceToken,
} from '../support/signed.ts';
import { aCompany, type Company, logIn } from '../support/worlds.ts';
import {
  createDirectory,
  createDirectoryGroup,
  createDirectoryUser,
  ERROR,
  GROUPS_PATH,
  makePatch,
  makeUserInput,
  readRefusal,
  USER_SCHEMA,
  USERS_PATH,
} from './support.ts';

let company: Company;
let directory: Caller;
let owner: string;
beforeAll(async () => {
  company = await aCompany();
  directory = await createDirectory(company);
  const { Resources } = await must(directory.get(`${USERS_PATH}?count=1`));
  owner = Resources[0].id;
});

const readUser = (id: string) => must(directory.get(`${USERS_PATH}/${id}`));

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
    const read = await directory.get(`${USERS_PATH}/${body.id}`);
    expect([read.body, read.headers.get('etag')]).toEqual([body, body.meta.version]);
    expect(await must(company.as.get(`/v1/users/${body.id}`))).toMatchObject({
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
    expect(await must(directory.post(USERS_PATH, { json: { ...input, ...names } }))).toMatchObject({
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
  ])('is not made with %j', async (wrong, says) => {
    const { status, body } = await directory.post(USERS_PATH, { json: makeUserInput(wrong) });
    expect([status, body]).toEqual([
      400,
      { schemas: [ERROR], status: '400', scimType: 'invalidValue', detail: expect.stringContaining(says) },
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
    const other = await createDirectoryUser(directory);
    const taken = makePatch({ op: 'replace', path: 'externalId', value: externalId });
    expect(readRefusal(await directory.patch(`${USERS_PATH}/${other.id}`, taken))).toEqual([409, 'uniqueness']);
    await must(directory.delete(`${USERS_PATH}/${first.id}`));
    expect(await must(directory.post(USERS_PATH, { json: makeUserInput({ userName, externalId }) }))).toMatchObject({
      userName,
      externalId,
    });
  });

  it('is not found by another company, which may use the same externalId', async () => {
    const user = await createDirectoryUser(directory);
    const stranger = await createDirectory(await aCompany());
    expect(await createDirectoryUser(stranger, { externalId: user.externalId })).toMatchObject({
      externalId: user.externalId,
    });
    expect((await must(stranger.get(`${USERS_PATH}?filter=id eq "${user.id}"`))).totalResults).toBe(0);
  });

  it('is replaced by PUT, and keeps what is not sent', async () => {
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
    const user = await must(directory.post(USERS_PATH, { json: input }));
    const again = await must(directory.put(`${USERS_PATH}/${user.id}`, { json: input }));
    const patched = await must(
      directory.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'replace', value: { ...input, active: 'True' } })),
    );
    expect([again, patched]).toEqual([user, user]);
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
    const user = await createDirectoryUser(directory, { externalId: undefined });
    const { meta: _, name, ...before } = user;
    const { status, body } = await directory.patch(`${USERS_PATH}/${user.id}`, makePatch(...operations));
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...before, ...changes });
    if (!('displayName' in changes)) expect(body.name).toEqual(name);
  });

  it('removes the externalId', async () => {
    const user = await createDirectoryUser(directory);
    const body = await must(
      directory.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'remove', path: 'externalId' })),
    );
    expect(body).not.toHaveProperty('externalId');
  });

  it('changes one part of a name and keeps the rest, also when it is repeated', async () => {
    const user = await createDirectoryUser(directory, { displayName: 'Ana Souza Lima' });
    const change = (path: string, value: string) =>
      must(directory.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'replace', path, value })));
    expect((await change('name.givenName', 'Bia Maria')).displayName).toBe('Bia Maria Souza Lima');
    const twice = await change('name.givenName', 'Bia Maria');
    expect(twice.displayName).toBe('Bia Maria Souza Lima');
    expect((await change('name.familyName', 'Reis')).displayName).toBe('Bia Reis');
    expect((await change('name.familyName', 'Reis')).displayName).toBe('Bia Reis');
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
  it('ends the sessions on the next request, and lets the user sign in again', async () => {
    const { id, email, password } = await aUser(company);
    const { token } = await must(logIn(company.slug, email, password));
    expect((await createCaller(token).get('/v1/auth/me')).status).toBe(200);
    await must(directory.patch(`${USERS_PATH}/${id}`, makePatch({ op: 'Replace', path: 'active', value: 'False' })));
    expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    expect(await must(company.as.get(`/v1/users/${id}`))).toMatchObject({ status: 'inactive' });
    await must(directory.patch(`${USERS_PATH}/${id}`, makePatch({ op: 'Replace', path: 'active', value: 'True' })));
    expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    expect((await logIn(company.slug, email, password)).status).toBe(200);
  });

  it('is refused for users who are only invited, and so is a new address', async () => {
    const { id } = (await inviteUser(company, 'guest@example.com')).user;
    expect(await readUser(id)).toMatchObject({ active: false });
    const activating = makePatch({ op: 'replace', path: 'active', value: true });
    expect((await directory.patch(`${USERS_PATH}/${id}`, activating)).status).toBe(409);
    const elsewhere = makePatch({ op: 'replace', path: 'userName', value: 'elsewhere@example.com' });
    expect((await directory.patch(`${USERS_PATH}/${id}`, elsewhere)).status).toBe(409);
  });
});

describe('the owner of a company', () => {
  it.each([
    ['PATCH', makePatch({ op: 'replace', path: 'active', value: false })],
    ['PATCH', makePatch({ op: 'Replace', value: { active: 'False', displayName: 'x' } })],
    ['PATCH', makePatch({ op: 'replace', path: 'userName', value: 'taken-over@example.com' })],
    ['DELETE', {}],
  ])('is neither deactivated, deleted nor given another address by SCIM: %s', async (method, sending) => {
    const before = await readUser(owner);
    const send = method === 'PATCH' ? directory.patch : directory.delete;
    expect(readRefusal(await send(`${USERS_PATH}/${owner}`, sending))).toEqual([403, 'mutability']);
    expect(await readUser(owner)).toEqual(before);
  });

  it('keeps the password reset link when SCIM is refused to set another address', async () => {
    // A reset ends sessions.
    const theirs = await aCompany();
    const { email, password } = theirs.owner;
    await must(call('POST', '/v1/users/reset-password/request', { json: { company_slug: theirs.slug, email } }));
    const token = readLink(readNewestMail(email)).searchParams.get('token');
    const other = makePatch({ op: 'replace', path: 'userName', value: 'elsewhere@example.com' });
    const refused = await (await createDirectory(theirs)).patch(`${USERS_PATH}/${theirs.owner.id}`, other);
    expect(readRefusal(refused)).toEqual([403, 'mutability']);
    const confirmed = await call('POST', '/v1/users/reset-password/confirm', { json: { token, password } });
    expect(confirmed.status).toBe(200);
  });

  it('keeps all required attributes when PATCH removes them', async () => {
    const before = await readUser(owner);
    for (const [operation, expected] of [
      [{ op: 'remove' }, [400, 'noTarget']],
      [{ op: 'remove', path: 'userName' }, [400, 'invalidValue']],
      [{ op: 'remove', path: 'id' }, [400, 'mutability']],
      [{ op: 'remove', path: 'active' }, [200, undefined]],
    ] as const)
      expect(readRefusal(await directory.patch(`${USERS_PATH}/${owner}`, makePatch(operation)))).toEqual(expected);
    expect(await readUser(owner)).toEqual(before);
  });

  it('may leave a group by SCIM, and stays the owner', async () => {
    const group = await createDirectoryGroup(directory, { members: [{ value: owner }] });
    const leaving = makePatch({ op: 'remove', path: `members[value eq "${owner}"]` });
    expect((await must(directory.patch(`${GROUPS_PATH}/${group.id}`, leaving))).members).toEqual([]);
    expect((await directory.delete(`${USERS_PATH}/${owner}`)).status).toBe(403);
    expect(await readUser(owner)).toMatchObject({ active: true });
  });

  it('can be renamed by SCIM like any user', async () => {
    const body = await must(
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
    const policy = await must(
      company.as.post('/v1/policies', {
        json: { name: 'Strong', document: { version: '2024-01-01', statements: [allow('policies:create')] } },
      }),
    );
    await must(company.as.post(`/v1/groups/${group.id}/policies/${policy._id}`));
    const user = await createDirectoryUser(directory);
    await bind(company, group.id, user.id);
    const weak = withSecret(await aServiceAccountThat(company, allow('users:update', 'users:get')));
    const taking = makePatch({ op: 'replace', path: 'userName', value: 'mine@example.com' });
    expect((await weak.patch(`${USERS_PATH}/${user.id}`, taking)).status).toBe(403);
    expect((await readUser(user.id)).userName).toBe(user.userName);
    const harmless = await createDirectoryUser(directory);
    expect((await weak.patch(`${USERS_PATH}/${harmless.id}`, taking)).body.userName).toBe('mine@example.com');
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
  ] as const)('with %s: a replacement of %j is answered %i', async (action, operation, status) => {
    const user = await createDirectoryUser(directory);
    const by = withSecret(await aServiceAccountThat(company, allow(action, 'users:get')));
    const answer = await by.patch(`${USERS_PATH}/${user.id}`, makePatch({ op: 'replace', ...operation }));
    expect(answer.status).toBe(status);
  });

  it('also apply with a service token, but neither with a session nor with a signed request', async () => {
    const robot = await aServiceAccountThat(company, allow('users:list'));
    expect((await (await withServiceToken(robot)).get(USERS_PATH)).status).toBe(200);
    for (const by of [company.as, createCaller('none'), signed(robot.key)]) {
      const { status, headers, body } = await by.get(USERS_PATH);
      expect([status, body]).toEqual([
        401,
        expect.objectContaining({ schemas: [ERROR], status: '401', detail: expect.any(String) }),
      ]);
      expect(headers.get('content-type')).toBe('application/scim+json');
    }
  });
});

describe('the ETag of a SCIM user', () => {
  it('is that of the whole user, whatever attributes are requested', async () => {
    const user = await createDirectoryUser(directory);
    const { headers, body } = await directory.get(`${USERS_PATH}/${user.id}?attributes=userName`);
    expect(body).toEqual({ schemas: [USER_SCHEMA], id: user.id, userName: user.userName });
    expect(headers.get('etag')).toBe(user.meta.version);
    const known = { headers: { 'if-none-match': user.meta.version } };
    expect((await directory.get(`${USERS_PATH}/${user.id}`, known)).status).toBe(304);
  });

  it('that is stale in If-Match changes nothing, by any method', async () => {
    const user = await createDirectoryUser(directory);
    const json = makeUserInput({ userName: user.userName });
    const stale = { headers: { 'if-match': user.meta.version } };
    const changed = await must(directory.put(`${USERS_PATH}/${user.id}`, { json, ...stale }));
    for (const answer of [
      await directory.put(`${USERS_PATH}/${user.id}`, { json: { ...json, displayName: 'Stale' }, ...stale }),
      await directory.patch(`${USERS_PATH}/${user.id}`, {
        ...makePatch({ op: 'replace', path: 'displayName', value: 'S' }),
        ...stale,
      }),
      await directory.delete(`${USERS_PATH}/${user.id}`, stale),
    ])
      expect(readRefusal(answer)).toEqual([412, undefined]);
    expect(await readUser(user.id)).toEqual(changed);
    const fresh = { headers: { 'if-match': `W/${changed.meta.version}` } };
    expect((await directory.delete(`${USERS_PATH}/${user.id}`, fresh)).status).toBe(204);
  });

  it('that goes stale during the request changes nothing', async () => {
    const user = await createDirectoryUser(directory);
    const { env } = createRivalEnv(/^update "users"/, () =>
      must(company.as.put(`/v1/users/${user.id}`, { json: { name: 'Rival' } })),
    );
    const sending = { ...makePatch({ op: 'replace', path: 'displayName', value: 'Late' }), env };
    const { status } = await directory.patch(`${USERS_PATH}/${user.id}`, {
      ...sending,
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
  ])('that %s is refused', async (_, sending, scimType) => {
    expect(readRefusal(await directory.post(USERS_PATH, sending))).toEqual([400, scimType]);
  });

  it('may have the content type application/scim+json', async () => {
    const sending = {
      body: JSON.stringify(makeUserInput()),
      headers: { 'content-type': 'application/scim+json; charset=utf-8' },
    };
    expect((await directory.post(USERS_PATH, sending)).status).toBe(201);
  });

  it('that is too large is refused with a SCIM error', async () => {
    const sending = { body: `{"a":"${'x'.repeat(1024 * 1024)}"}`, headers: { 'content-type': 'application/json' } };
    expect(readRefusal(await directory.post(USERS_PATH, sending))).toEqual([413, undefined]);
  });

  it('to an unknown path is answered with a SCIM error', async () => {
    const { status, body } = await call('GET', '/scim/v2/Nothing');
    expect([status, body]).toEqual([404, expect.objectContaining({ schemas: [ERROR], status: '404' })]);
  });
});
