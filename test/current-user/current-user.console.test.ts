import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { readGlobalGroups, readInvalidFields } from '../support/console.ts';
import { selectRow } from '../support/rival.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { aServiceAccount, must, withServiceToken } from '../support/signed.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const ME_PATH = '/v1/auth/me';

describe('the current user', () => {
  it('is returned with the profile and the company, its locale and its branding', async () => {
    const { administrators } = await readGlobalGroups(company);
    await must(company.as.put('/v1/company/branding', { json: { primary_color: '#7a1f3d' } }));
    await must(company.as.put('/v1/company/settings', { json: { locale: 'pt-BR' } }));
    expect(await must(company.as.get(ME_PATH))).toEqual({
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
    const { email } = await aUser(company);
    const { token } = (await logIn(company.slug, email, PASSWORD)).body;
    const { user } = await must(call('GET', ME_PATH, { headers: { authorization: `Bearer ${token}` } }));
    expect(Date.now() - Date.parse(user.last_login_at)).toBeLessThan(60_000);
    expect(user.is_owner).toBe(false);
  });

  it('gets the number of unused backup codes of their second factor', async () => {
    const [one, another] = [await aUser(company), await aUser(company)];
    const { backupCodes } = await enrolAuthenticator(one.as);
    await enrolAuthenticator(another.as);
    const left = async () => (await must(one.as.get(ME_PATH))).user;
    expect(await left()).toMatchObject({ mfa_enabled: true, backup_codes_left: 10 });
    const pending = (await logIn(company.slug, one.email, PASSWORD)).body;
    const json = { pending_2fa_token: pending.pending_2fa_token, backup_code: backupCodes[0] };
    await must(call('POST', '/v1/auth/2fa/login', { json }));
    expect(await left()).toMatchObject({ backup_codes_left: 9 });
    expect((await must(another.as.get(ME_PATH))).user.backup_codes_left).toBe(10);
  });

  it('is shown the permissions with include=permissions, as GET /v1/auth/permissions answers them', async () => {
    const { as } = await aUser(company, { can: ['users:list', 'groups:*'] });
    const robot = await withServiceToken(await aServiceAccount(company));
    for (const caller of [as, robot]) {
      const { permissions } = await must(caller.get(`${ME_PATH}?include=permissions`));
      expect(permissions).toEqual(await must(caller.get('/v1/auth/permissions')));
      expect(await must(caller.get(ME_PATH))).not.toHaveProperty('permissions');
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
    const { as, id } = await aUser(company);
    const { user, context } = await must(as.put(ME_PATH, { json: { name: '  Ana Andrade ' } }));
    expect([user.name, user.teams, context.company.slug]).toEqual(['Ana Andrade', [], company.slug]);
    expect((await must(as.get(ME_PATH))).user.name).toBe('Ana Andrade');
    expect((await must(company.as.get(`/v1/users/${id}`))).name).toBe('Ana Andrade');
  });

  it('is used in mails from the next request on', async () => {
    const { as } = await aUser(company, { can: ['users:invite'] });
    await must(as.put(ME_PATH, { json: { name: 'Renamed Inviter' } }));
    const { _id } = await must(as.post('/v1/users/invite', { json: { email: `new@${company.slug}.test` } }));
    expect(await selectRow('select inviter from invitations where user_id = ?', _id)).toEqual({
      inviter: 'Renamed Inviter',
    });
  });

  it.each([[''], ['   '], [7], [null], ['a'.repeat(201)], ['two\nlines'], ['a\u0000b']])('is not %j', async (name) => {
    const { as } = await aUser(company);
    expect(readInvalidFields(await as.put(ME_PATH, { json: { name } }))).toEqual([422, 'VALIDATION_ERROR', 'name']);
  });
});
