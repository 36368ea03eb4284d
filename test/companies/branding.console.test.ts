import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { decodePicture, PICTURES } from '../formats/image/pictures.ts';
import { createSalesDashboard, createShare } from '../shares/support.ts';
import { type ApiResponse, BASE_URL, callApi } from '../support/api.ts';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { createRacingEnv } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';

const BRANDING_PATH = '/v1/company/branding';
const LOGO_PATH = `${BRANDING_PATH}/logo`;
const NO_BRANDING = {
  name: null,
  primary_color: null,
  background: null,
  text_color: null,
  font: null,
  radius: null,
  chart_palette: null,
  logo_url: null,
};
const BRAND = {
  name: 'Aves & Cia',
  primary_color: '#7a1f3d',
  background: '#fff8f0',
  text_color: '#2b1a12',
  font: 'serif',
  radius: 4,
  chart_palette: ['#7a1f3d', '#1f5a7a'],
};

let company: Company;
beforeEach(async () => {
  company = await createOwnedCompany();
});

const putBranding = (json: unknown, as = company.as) => as.put(BRANDING_PATH, { json });
const listFields = ({ status, body }: ApiResponse) => [
  status,
  body.details?.map(({ field }: { field: string }) => field),
];
const putLogo = (body: BodyInit, headers: Record<string, string> = {}) => company.as.put(LOGO_PATH, { body, headers });

describe('the brand of a company', () => {
  it('is changed field by field, and removed', async () => {
    expect((await company.as.get(BRANDING_PATH)).body).toEqual(NO_BRANDING);
    expect((await putBranding(BRAND)).body).toEqual({ ...BRAND, logo_url: null });
    expect((await putBranding({ radius: 0, font: null, primary_color: '#063' })).body).toEqual({
      ...BRAND,
      radius: 0,
      font: null,
      primary_color: '#006633',
      logo_url: null,
    });
    expect((await putBranding({})).status).toBe(200);
    await expectSuccess(putBranding(Object.fromEntries(Object.keys(BRAND).map((name) => [name, null]))));
    expect((await company.as.get(BRANDING_PATH)).body).toEqual(NO_BRANDING);
  });

  it('keeps its logo where another address is sent, and names the route that changes it', async () => {
    const { logo_url } = await expectSuccess(putLogo(decodePicture(PICTURES.png)));
    const { status, body } = await putBranding({ logo_url: `${logo_url}x` });
    const detail = { field: 'logo_url', reason: 'conflict', message: `is changed by PUT ${LOGO_PATH}` };
    expect([status, body.details]).toEqual([422, [detail]]);
    expect((await putBranding({ logo_url, radius: 3 })).body).toMatchObject({ logo_url, radius: 3 });
  });

  it('keeps its logo if a new one cannot be stored, and answers 503', async () => {
    await expectSuccess(putLogo(decodePicture(PICTURES.png)));
    const brandingBefore = (await company.as.get(BRANDING_PATH)).body;
    const FILES = { put: () => Promise.reject(new Error('the object store is down')) };
    const failingEnv = { FILES } as unknown as Record<string, string>;
    const answer = await company.as.put(LOGO_PATH, { body: decodePicture(PICTURES.png), env: failingEnv });
    expect([answer.status, answer.body.error]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect((await company.as.get(BRANDING_PATH)).body).toEqual(brandingBefore);
  });

  it.each([
    [{ text_color: '#eeeeee' }, ['text_color']],
    [{ background: '#101010' }, ['text_color', 'primary_color']],
    [{ primary_color: '#ffee00' }, ['primary_color']],
    [{ chart_palette: ['#000', '#fefefe'] }, ['chart_palette.1']],
    [{ background: 'white' }, ['background']],
    [{ primary_color: 'url(x)' }, ['primary_color']],
    [{ font: 'Papyrus' }, ['font']],
    [{ radius: 33 }, ['radius']],
    [{ name: 'a\nb' }, ['name']],
    [{ chart_palette: [] }, ['chart_palette']],
    [{ logo_url: 'https://evil.example/x.png' }, ['logo_url']],
  ])('is refused with low contrast or malformed values: %j', async (json, names) => {
    expect(listFields(await putBranding(json))).toEqual([422, names]);
    expect((await company.as.get(BRANDING_PATH)).body).toEqual(NO_BRANDING);
  });

  it('is refused with a message that names the two colours of low contrast', async () => {
    const { body } = await putBranding({ background: '#888', text_color: '#999' });
    expect(body.details[0].message).toBe(
      '#999999 on the background #888888 has a contrast of 1.24; WCAG AA asks for 4.5',
    );
  });

  it('is checked for contrast again if another request changes a half of it meanwhile', async () => {
    const { env: racingEnv, hasRun } = createRacingEnv(/^update "companies"/i, async () => {
      await expectSuccess(putBranding({ background: '#ffffff', text_color: '#000000', primary_color: '#000000' }));
    });
    await expectSuccess(putBranding({ background: '#000000', text_color: '#ffffff', primary_color: '#ffffff' }));
    const { status } = await company.as.put(BRANDING_PATH, { json: { primary_color: '#fefefe' }, env: racingEnv });
    expect([status, hasRun()]).toEqual([422, true]);
  });
});

describe('the logo of a company', () => {
  it.each(Object.entries(PICTURES))('is stored and shown to anybody: %s', async (name, pictureBase64) => {
    const type = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp', lossless: 'image/webp' }[name];
    // What the request claims does not count.
    const { logo_url } = await expectSuccess(putLogo(decodePicture(pictureBase64), { 'content-type': 'text/html' }));
    expect(logo_url.startsWith(`${BASE_URL}/api/v1/public/logos/`)).toBe(true);
    const { status, headers } = await callApi('GET', new URL(logo_url).pathname);
    expect([status, Object.fromEntries(headers)]).toEqual([
      200,
      expect.objectContaining({
        'content-type': type,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'public, max-age=31536000, immutable',
      }),
    ]);
  });

  it('can be sent as the single file of a form', async () => {
    const form = new FormData();
    form.set('logo', new File([decodePicture(PICTURES.webp)], 'logo.webp'));
    expect((await putLogo(form)).status).toBe(200);
    form.append('logo', new File([decodePicture(PICTURES.png)], 'two.png'));
    expect(listFields(await putLogo(form))).toEqual([422, ['logo']]);
    form.delete('logo');
    form.set('picture', new File([decodePicture(PICTURES.png)], 'one.png'));
    form.set('caption', 'x');
    expect(listFields(await putLogo(form))).toEqual([422, ['picture', 'caption']]);
    const text = new FormData();
    text.set('logo', 'no file');
    expect(listFields(await putLogo(text))).toEqual([422, ['logo']]);
  });

  it.each([
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['a truncated PNG', decodePicture(PICTURES.png).slice(0, -5)],
    ['an empty file', ''],
  ])('is refused by its content: %s', async (_name, body) => {
    expect(listFields(await putLogo(body, { 'content-type': 'image/png' }))).toEqual([422, ['logo']]);
    expect((await company.as.get(BRANDING_PATH)).body).toEqual(NO_BRANDING);
  });

  it('is refused when it is larger than 256 KiB, whether it is the body or a form file', async () => {
    const largeLogo = new Uint8Array(256 * 1024 + 1);
    largeLogo.set(decodePicture(PICTURES.png));
    const form = new FormData();
    form.set('logo', new File([largeLogo], 'logo.png'));
    for (const body of [largeLogo, form]) expect((await putLogo(body)).status).toBe(413);
  });

  it('replaces the previous logo, which is deleted', async () => {
    const oldLogoPath = new URL((await expectSuccess(putLogo(decodePicture(PICTURES.png)))).logo_url).pathname;
    const newLogoPath = new URL((await expectSuccess(putLogo(decodePicture(PICTURES.jpeg)))).logo_url).pathname;
    expect((await callApi('GET', oldLogoPath)).status).toBe(404);
    expect((await callApi('GET', newLogoPath)).status).toBe(200);
    expect((await putBranding({ logo_url: null })).body).toEqual(NO_BRANDING);
    expect((await callApi('GET', newLogoPath)).status).toBe(404);
    expect((await env.FILES.list({ prefix: `${newLogoPath.split('/').at(-2)}/logos/` })).objects).toEqual([]);
  });

  it('is served only at its own address', async () => {
    const { pathname } = new URL((await expectSuccess(putLogo(decodePicture(PICTURES.png)))).logo_url);
    const [companyId, id] = pathname.split('/').slice(-2);
    const at = '/api/v1/public/logos';
    for (const path of [`${at}/${'0'.repeat(24)}/${id}`, `${at}/${companyId}/${'0'.repeat(24)}`, `${at}/..%2f/${id}`]) {
      expect((await callApi('GET', path)).status).toBe(404);
    }
  });
});

describe('the brand that a viewer is shown', () => {
  it('is read together with the share or embed, without a further query', async () => {
    const owner = await createProvisionedCompany();
    const { dashboard } = await createSalesDashboard(owner);
    const { token } = await createShare(owner, dashboard._id);
    const embed = await expectSuccess(owner.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json: {} }));
    const readPage = async () => String((await callApi('GET', `/p/${token}`)).body);
    const { name } = (await expectSuccess(owner.as.get('/v1/auth/me'))).context.company;
    expect(await readPage()).toContain(`id="branding">${JSON.stringify({ name })}</script>`);
    const paths = [`/api/v1/public/shares/${token}/resolve`, `/api/embed/d/${embed.token}/info`];
    for (const path of paths) expect((await expectSuccess(callApi('GET', path))).branding).toEqual({ name });
    await expectSuccess(owner.as.put(BRANDING_PATH, { json: BRAND }));
    const { logo_url } = await expectSuccess(owner.as.put(LOGO_PATH, { body: decodePicture(PICTURES.png) }));
    for (const path of paths) {
      const { env: counting, countCalls } = createCountingD1();
      const { body } = await callApi('GET', path, { env: counting });
      expect(body.branding).toEqual({ ...BRAND, logo_url });
      expect(countCalls()).toBe(1);
    }
    const { env: counting, countCalls } = createCountingD1();
    const { body } = await callApi('GET', `/p/${token}`, { env: counting });
    expect([String(body).includes(JSON.stringify(BRAND.name)), countCalls()]).toEqual([true, 1]);
  });

  it('is in the page of the portal, before anybody has signed in', async () => {
    const readPortalPage = async (slug: string) => String((await callApi('GET', `/portal/${slug}`)).body);
    const unknownCompanyPage = await readPortalPage('no-such-company');
    expect(await readPortalPage(company.slug)).toBe(unknownCompanyPage);
    await expectSuccess(putBranding({ name: '</script><script>alert(1)</script>' }));
    const page = await readPortalPage(company.slug);
    const [, data = ''] = /<script type="application\/json" id="branding">(.*?)<\/script>/.exec(page) ?? [];
    expect(JSON.parse(data)).toEqual({ name: '</script><script>alert(1)</script>' });
    expect(page.replace(data, '{}')).toBe(unknownCompanyPage);
  });
});
