import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, call } from '../support/api.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { signed } from '../support/signed.ts';
import { aCompany, aUser, PASSWORD } from '../support/worlds.ts';

const readRefusal = ({ status, body }: ApiResponse) => [status, body.details?.[0]?.field ?? body.details?.field];
const readMailedToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token');

describe('a password made of the names of its user', () => {
  it('is refused wherever a password is set', async () => {
    const company = await aCompany();
    const ofCompany = `${company.slug}-2026`;

    const owner = { email: 'olivia@fine.test', name: 'Olivia Prime', password: 'Olivia-Prime-1' };
    const founded = await call('POST', '/admin/organizations', {
      headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
      json: { name: 'Fine Company', slug: 'fine', owner },
    });
    expect(readRefusal(founded)).toEqual([422, 'owner.password']);

    const admin = signed(company.apiKey);
    for (const password of [ofCompany, 'carla.gomes1', 'Carla Gomes!']) {
      const made = await admin.post('/users', { json: { email: 'carla.gomes@mail.test', password } });
      expect(readRefusal(made)).toEqual([422, 'password']);
    }
    expect((await admin.post('/users', { json: { email: 'carla.gomes@mail.test', password: PASSWORD } })).status).toBe(
      201,
    );

    const { email, as } = await aUser(company);
    for (const new_password of [ofCompany, 'olga-owner-12', email]) {
      const changed = await as.post('/v1/auth/password', { json: { current_password: PASSWORD, new_password } });
      expect(readRefusal(changed)).toEqual([422, 'new_password']);
    }

    await call('POST', '/v1/users/reset-password/request', { json: { email } });
    const reset = (password: string) =>
      call('POST', '/v1/users/reset-password/confirm', { json: { token: readMailedToken(email), password } });
    expect(readRefusal(await reset(ofCompany))).toEqual([422, 'password']);
    expect((await reset('a-brand-new-passphrase')).status).toBe(200);

    const invited = 'bruno.dias@mail.test';
    await inviteUser(company, invited);
    const accept = (password: string, name?: string) =>
      call('POST', '/v1/users/accept-invitation', { json: { token: readMailedToken(invited), password, name } });
    for (const password of [ofCompany, 'bruno.dias-12'])
      expect(readRefusal(await accept(password))).toEqual([422, 'password']);
    expect(readRefusal(await accept('Vinicius-2026', 'Vinicius'))).toEqual([422, 'password']);
    expect((await accept('Vinicius-2026', 'Bruno')).status).toBe(200);
  });
});
