import { describe, expect, it } from 'vitest';
import { decodePicture, PICTURES } from '../formats/image/pictures.ts';
import { callApi } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, PASSWORD } from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { readNewestMail } from '../support/mail.ts';
import { expectSuccess } from '../support/signed.ts';

const company = await createOwnedCompany();
await expectSuccess(company.as.put('/v1/company/settings', { json: { locale: 'es' } }));

const expectSpanish = (email: string, subject: RegExp) => {
  const mail = readNewestMail(email);
  expect(mail.subject).toMatch(subject);
  expect(mail.text).toMatch(/^Hola/);
  expect(mail.html).toContain('<html lang="es">');
};

it("a mail in the company's brand has its name and its logo, which is attached", async () => {
  const brandedCompany = await createOwnedCompany();
  await expectSuccess(
    brandedCompany.as.put('/v1/company/branding', { json: { name: 'Aves & Cia', primary_color: '#7a1f3d' } }),
  );
  await expectSuccess(brandedCompany.as.put('/v1/company/branding/logo', { body: decodePicture(PICTURES.jpeg) }));
  const { email } = await createAllowedUser(brandedCompany);
  const request = () =>
    expectSuccess(
      callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: brandedCompany.slug, email } }),
    );
  await request();
  const { subject, html } = readNewestMail(email);
  const readAttachments = () =>
    (readNewestMail(email) as unknown as { attachments?: { contentId: string; type: string }[] }).attachments;
  expect(subject).toBe('Your sign-in code for Aves & Cia');
  expect(html).toContain('src="cid:logo" alt="Aves &amp; Cia"');
  expect(readAttachments()).toMatchObject([{ disposition: 'inline', contentId: 'logo', type: 'image/jpeg' }]);
  // Some mail programs do not show a WebP.
  await expectSuccess(brandedCompany.as.put('/v1/company/branding/logo', { body: decodePicture(PICTURES.webp) }));
  await request();
  expect([readAttachments(), readNewestMail(email).html.includes('cid:')]).toEqual([undefined, false]);
});

describe("a mail in the company's language", () => {
  it('contains a code to sign in', async () => {
    const { email } = await createAllowedUser(company);
    await expectSuccess(
      callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } }),
    );
    expectSpanish(email, /^Tu código de acceso a /);
  });

  it('contains a link for a new password', async () => {
    const { email } = await createAllowedUser(company);
    await expectSuccess(callApi('POST', '/v1/users/reset-password/request', { json: { email } }));
    expectSpanish(email, /^Define una nueva contraseña/);
  });

  it('contains an invitation', async () => {
    const email = `invited@${company.slug}.test`;
    await inviteUser(company, email);
    expectSpanish(email, /^Te han invitado a /);
  });

  it("contains an outsider's code", async () => {
    const email = `outsider@${company.slug}.test`;
    const { id } = await expectSuccess(company.as.post('/api/v1/share-contexts', { json: { name: 'Outsiders' } }));
    const member = { member_type: 'external_email', email };
    await expectSuccess(company.as.post(`/api/v1/share-contexts/${id}/members`, { json: member }));
    await expectSuccess(callApi('POST', '/api/v1/share-auth/request', { json: { company_slug: company.slug, email } }));
    expectSpanish(email, /^Tu código para los paneles de /);
  });

  it("reports a change of a user's sign-in settings, and a change of the whole company's sign-in settings", async () => {
    const { email, as } = await createAllowedUser(company);
    const json = { current_password: PASSWORD, new_password: 'a-brand-new-passphrase' };
    await expectSuccess(as.post('/v1/auth/password', { json }));
    expectSpanish(email, /^Tu contraseña ha cambiado/);
    await expectSuccess(company.as.put('/v1/auth/social/config', { json: { providers: [] } }));
    expectSpanish(company.owner.email, /^Ha cambiado la forma de iniciar sesión/);
  });
});
