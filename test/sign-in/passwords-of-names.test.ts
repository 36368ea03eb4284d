import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { consistsOfKnownWords } from '../../src/modules/users/passwords.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, PASSWORD } from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { createSignedCaller } from '../support/signed.ts';

const readRefusal = ({ status, body }: ApiResponse) => [status, body.details?.[0]?.field ?? body.details?.field];
const readMailedToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token');

describe('a password made of the names of its user', () => {
  it('is refused wherever a password is set', async () => {
    const company = await createOwnedCompany();
    const companyPassword = `${company.slug}-2026`;

    const owner = { email: 'olivia@fine.test', name: 'Olivia Prime', password: 'Olivia-Prime-1' };
    const createdOrganization = await callApi('POST', '/admin/organizations', {
      headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
      json: { name: 'Fine Company', slug: 'fine', owner },
    });
    expect(readRefusal(createdOrganization)).toEqual([422, 'owner.password']);

    const admin = createSignedCaller(company.apiKey);
    for (const password of [companyPassword, 'carla.gomes1', 'Carla Gomes!']) {
      const createdUser = await admin.post('/users', { json: { email: 'carla.gomes@mail.test', password } });
      expect(readRefusal(createdUser)).toEqual([422, 'password']);
    }
    expect((await admin.post('/users', { json: { email: 'carla.gomes@mail.test', password: PASSWORD } })).status).toBe(
      201,
    );

    const { email, as } = await createAllowedUser(company);
    for (const new_password of [companyPassword, 'olga-owner-12', email]) {
      const changeAnswer = await as.post('/v1/auth/password', { json: { current_password: PASSWORD, new_password } });
      expect(readRefusal(changeAnswer)).toEqual([422, 'new_password']);
    }

    await callApi('POST', '/v1/users/reset-password/request', { json: { email } });
    const resetPassword = (password: string) =>
      callApi('POST', '/v1/users/reset-password/confirm', { json: { token: readMailedToken(email), password } });
    expect(readRefusal(await resetPassword(companyPassword))).toEqual([422, 'password']);
    expect((await resetPassword('a-brand-new-passphrase')).status).toBe(200);

    const invitedEmail = 'bruno.dias@mail.test';
    await inviteUser(company, invitedEmail);
    const acceptInvitation = (password: string, name?: string) =>
      callApi('POST', '/v1/users/accept-invitation', {
        json: { token: readMailedToken(invitedEmail), password, name },
      });
    for (const password of [companyPassword, 'bruno.dias-12'])
      expect(readRefusal(await acceptInvitation(password))).toEqual([422, 'password']);
    expect(readRefusal(await acceptInvitation('Vinicius-2026', 'Vinicius'))).toEqual([422, 'password']);
    expect((await acceptInvitation('Vinicius-2026', 'Bruno')).status).toBe(200);
  });
});

const KNOWN_WORDS = ['jose.lima@acme', 'José Lima', 'Acme Analytics Ltda.', 'acme-analytics'];

describe('the check of a password for its user’s own words', () => {
  it.each([
    'jose.lima@acme',
    'JoseLima2026',
    'JOSÉ-LIMA-1!',
    'lima.lima.lima',
    'acme-analytics',
    'AcmeAnalytics2026!',
    'Acme_Lima_20260101',
    'analytics12345678',
  ])('refuses %s', (password) => {
    expect(consistsOfKnownWords(password, KNOWN_WORDS)).toBe(true);
  });

  it.each([
    'correct-horse-battery',
    'limestone quarry at dawn',
    // What is left is hard enough to guess.
    'acme likes purple turtles',
    '12345678901234',
    'vK3#pQz81!mm',
    '',
  ])('accepts %j', (password) => {
    expect(consistsOfKnownWords(password, KNOWN_WORDS)).toBe(false);
  });

  it('ignores words too short to name anybody', () => {
    expect(consistsOfKnownWords('al-2026-x', ['Al', 'Bo'])).toBe(false);
  });
});
