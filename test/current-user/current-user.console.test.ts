import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readGlobalGroups, readInvalidFields } from '../support/console.ts';
import { selectRow } from '../support/race.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { createKeyedAccount, createTokenCaller, expectSuccess } from '../support/signed.ts';

const company = await createOwnedCompany();

const ME_PATH = '/v1/auth/me';

describe('the current user', () => {
  it('is returned with the profile and the company, its locale and its branding', async () => {
    const { administrators } = await readGlobalGroups(company);
    await expectSuccess(company.as.put('/v1/company/branding', { json: { primary_color: '#7a1f3d' } }));
    await expectSuccess(company.as.put('/v1/company/settings', { json: { locale: 'pt-BR' } }));
    expect(await expectSuccess(company.as.get(ME_PATH))).toEqual({
      user: {
        _id: company.owner.id,
        email: company.owner.email,
        name: 'Olga Owner',
        company_id: company.id,
        status: 'active',
        teams: [],
        group_ids: [administrators],
        created_at: expect.any(String),
        is_owner: true,
        mfa_enabled: false,
        backup_codes_left: 0,
        last_login_at: expect.any(String),
      },
      context: {
        company_id: company.id,
        company: {
          id: company.id,
          name: expect.stringMatching(/^Company /),
          slug: company.slug,
          locale: 'pt-BR',
          branding: { primary_color: '#7a1f3d' },
        },
      },
    });
  });

  it('gets the time of their last sign-in', async () => {
    const { email } = await createAllowedUser(company);
    const { token } = (await logIn(company.slug, email, PASSWORD)).body;
    const { user } = await expectSuccess(callApi('GET', ME_PATH, { headers: { authorization: `Bearer ${token}` } }));
    expect(Date.now() - Date.parse(user.last_login_at)).toBeLessThan(60_000);
    expect(user.is_owner).toBe(false);
  });

  it('gets the number of unused backup codes of their second factor', async () => {
    const [one, another] = [await createAllowedUser(company), await createAllowedUser(company)];
    const { backupCodes } = await enrolAuthenticator(one.as);
    await enrolAuthenticator(another.as);
    const readCurrentUser = async () => (await expectSuccess(one.as.get(ME_PATH))).user;
    expect(await readCurrentUser()).toMatchObject({ mfa_enabled: true, backup_codes_left: 10 });
    const pendingSignIn = (await logIn(company.slug, one.email, PASSWORD)).body;
    const json = { pending_2fa_token: pendingSignIn.pending_2fa_token, backup_code: backupCodes[0] };
    await expectSuccess(callApi('POST', '/v1/auth/2fa/login', { json }));
    expect(await readCurrentUser()).toMatchObject({ backup_codes_left: 9 });
    expect((await expectSuccess(another.as.get(ME_PATH))).user.backup_codes_left).toBe(10);
  });

  it('is returned with the permissions if include=permissions is sent, as GET /v1/auth/permissions returns them', async () => {
    const { as } = await createAllowedUser(company, { can: ['users:list', 'groups:*'] });
    const tokenCaller = await createTokenCaller(await createKeyedAccount(company));
    for (const caller of [as, tokenCaller]) {
      const { permissions } = await expectSuccess(caller.get(`${ME_PATH}?include=permissions`));
      expect(permissions).toEqual(await expectSuccess(caller.get('/v1/auth/permissions')));
      expect(await expectSuccess(caller.get(ME_PATH))).not.toHaveProperty('permissions');
    }
    expect(readInvalidFields(await as.get(`${ME_PATH}?include=everything`))).toEqual([
      422,
      'VALIDATION_ERROR',
      'include',
    ]);
  });
});

describe('the name of the current user', () => {
  it('can be changed by a user without permissions', async () => {
    const { as, id } = await createAllowedUser(company);
    const { user, context } = await expectSuccess(as.put(ME_PATH, { json: { name: '  Ana Andrade ' } }));
    expect([user.name, user.teams, context.company.slug]).toEqual(['Ana Andrade', [], company.slug]);
    expect((await expectSuccess(as.get(ME_PATH))).user.name).toBe('Ana Andrade');
    expect((await expectSuccess(company.as.get(`/v1/users/${id}`))).name).toBe('Ana Andrade');
  });

  it('is used in mails from the next request on', async () => {
    const { as } = await createAllowedUser(company, { can: ['users:invite'] });
    await expectSuccess(as.put(ME_PATH, { json: { name: 'Renamed Inviter' } }));
    const { _id } = await expectSuccess(as.post('/v1/users/invite', { json: { email: `new@${company.slug}.test` } }));
    expect(await selectRow('select inviter from invitations where user_id = ?', _id)).toEqual({
      inviter: 'Renamed Inviter',
    });
  });

  it.each([[''], ['   '], ['a'.repeat(201)], ['two\nlines'], ['a\u0000b']])('cannot be %j', async (name) => {
    const { as } = await createAllowedUser(company);
    expect(readInvalidFields(await as.put(ME_PATH, { json: { name } }))).toEqual([422, 'VALIDATION_ERROR', 'name']);
  });
});
