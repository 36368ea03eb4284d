import { describe, expect, it } from 'vitest';
import { createCaller } from '../support/api.ts';
import { createOwnedCompany, logIn } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import {
  bindUser,
  createGrouplessUser,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
} from '../support/signed.ts';

const [company, other] = await Promise.all([createOwnedCompany(), createOwnedCompany()]);
const admin = createSignedCaller(company.apiKey);

const PASSWORD = 'quiet-harbour-lantern';
let emailCount = 0;
const makeEmail = () => `new-${emailCount++}@people.test`;

describe('the creation of a user', () => {
  it('creates a user who can sign in at once', async () => {
    const email = makeEmail();
    const { status, body } = await admin.post('/users', { json: { email, password: PASSWORD, metadata: { desk: 4 } } });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      email,
      organization_id: company.id,
      is_active: true,
      is_verified: false,
      mfa_enabled: false,
      metadata: { desk: 4 },
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
      last_login_at: null,
      deleted_at: null,
    });
    expect((await admin.get(`/users/${body.id}`)).body).toEqual(body);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(200);
    expect((await admin.get(`/users/${body.id}`)).body.last_login_at).toMatch(/Z$/);
  });

  it('stores the email lower-case, and refuses it in any case, in this organization only', async () => {
    const email = makeEmail();
    const created = await admin.post('/users', { json: { email: email.toUpperCase(), password: PASSWORD } });
    expect(created.body.email).toBe(email);
    const secondUser = await admin.post('/users', { json: { email, password: PASSWORD } });
    expect([secondUser.status, secondUser.body.error, secondUser.body.details]).toEqual([
      409,
      'AlreadyExists',
      { field: 'email', reason: 'taken' },
    ]);
    expect(
      (await createSignedCaller(other.apiKey).post('/users', { json: { email, password: PASSWORD } })).status,
    ).toBe(201);
  });

  it.each([
    ['a bad email', { email: 'nobody', password: PASSWORD }, 'email'],
    ['a password of 7 characters', { email: 'a@b.co', password: 'x1y2z3w' }, 'password'],
    ['a password of 129 characters', { email: 'a@b.co', password: 'p'.repeat(129) }, 'password'],
    ['a common password', { email: 'a@b.co', password: 'Password123' }, 'password'],
  ])('refuses %s, and does not echo the password', async (_what, json, field) => {
    const { status, body } = await admin.post('/users', { json });
    expect([status, body.error, body.details]).toEqual([
      422,
      'ValidationError',
      [expect.objectContaining({ field, message: expect.any(String) })],
    ]);
    if ('password' in json) expect(JSON.stringify(body)).not.toContain(json.password as string);
  });
});

describe('a change of a user', () => {
  it('ends the sessions of a deactivated user for good', async () => {
    const user = await createGrouplessUser(company);
    const { body } = await logIn(company.slug, user.email, user.password);
    const session = createCaller(body.token);
    expect((await session.get('/v1/auth/me')).status).toBe(200);
    const inactiveUser = await expectSuccess(admin.patch(`/users/${user.id}`, { json: { is_active: false } }));
    expect(inactiveUser.is_active).toBe(false);
    expect((await session.get('/v1/auth/me')).status).toBe(401);
    await expectSuccess(admin.patch(`/users/${user.id}`, { json: { is_active: true } }));
    expect((await session.get('/v1/auth/me')).status).toBe(401);
    expect((await logIn(company.slug, user.email, user.password)).status).toBe(200);
  });

  it('replaces metadata', async () => {
    const { id } = await createGrouplessUser(company);
    await expectSuccess(admin.patch(`/users/${id}`, { json: { metadata: { a: 1, b: 2 } } }));
    expect((await expectSuccess(admin.patch(`/users/${id}`, { json: { metadata: { c: 3 } } }))).metadata).toEqual({
      c: 3,
    });
    const tooLargeMetadata = { metadata: { text: 'x'.repeat(17_000) } };
    expect((await admin.patch(`/users/${id}`, { json: tooLargeMetadata })).status).toBe(422);
  });
});

describe('the deletion of a user', () => {
  it('removes a membership that is created meanwhile', async () => {
    const [groupId, user] = [await createPolicyGroup(company), await createGrouplessUser(company)];
    const bindConcurrently = () => bindUser(company, groupId, user.id);
    const answer = await sendDuringRace(/^update "users"/, bindConcurrently, (env) =>
      admin.delete(`/users/${user.id}`, { env }),
    );
    expect(answer.status).toBe(204);
    expect((await admin.get(`/groups/${groupId}/bindings`)).body.total).toBe(0);
  });
});

describe('the list of users', () => {
  it('is filtered by account membership, each user once', async () => {
    const [ann, bob, groups, { id }] = await Promise.all([
      createGrouplessUser(company),
      createGrouplessUser(company),
      Promise.all([createPolicyGroup(company), createPolicyGroup(company)]),
      expectSuccess(admin.post('/accounts', { json: { name: 'Filtered' } })),
    ]);
    await bindUser(company, groups[0], ann.id, id);
    await bindUser(company, groups[1], ann.id, id);
    await bindUser(company, groups[0], bob.id);
    const { total, results } = await expectSuccess(admin.get(`/users?account_id=${id}`));
    expect([total, results.map((user: { id: string }) => user.id)]).toEqual([1, [ann.id]]);
    expect((await expectSuccess(admin.get('/users?account_id=nonsense'))).total).toBe(0);
    expect((await expectSuccess(admin.get(`/users?account_id=${other.accountId}`))).total).toBe(0);
  });
});
