import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { decodePicture, PICTURES } from '../formats/image/pictures.ts';
import { aSalesDashboard, aShare } from '../shares/support.ts';
import { type ApiResponse, BASE_URL, call } from '../support/api.ts';
import { createCountingD1 } from '../support/counted.ts';
import { createRivalEnv } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';

const PATH = '/v1/company/branding';
const LOGO = `${PATH}/logo`;
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
  company = await aCompany();
});

const put = (json: unknown, as = company.as) => as.put(PATH, { json });
const fields = ({ status, body }: ApiResponse) => [status, body.details?.map(({ field }: { field: string }) => field)];
const putLogo = (body: BodyInit, headers: Record<string, string> = {}) => company.as.put(LOGO, { body, headers });

describe('the brand of a company', () => {
  it('is changed field by field, and removed', async () => {
    expect((await company.as.get(PATH)).body).toEqual(NO_BRANDING);
    expect((await put(BRAND)).body).toEqual({ ...BRAND, logo_url: null });
    expect((await put({ radius: 0, font: null, primary_color: '#063' })).body).toEqual({
      ...BRAND,
      radius: 0,
      font: null,
      primary_color: '#006633',
      logo_url: null,
    });
    expect((await put({})).status).toBe(200);
    await must(put(Object.fromEntries(Object.keys(BRAND).map((name) => [name, null]))));
    expect((await company.as.get(PATH)).body).toEqual(NO_BRANDING);
  });

  it('keeps its logo where another address is sent, and names the route that changes it', async () => {
    const { logo_url } = await must(putLogo(decodePicture(PICTURES.png)));
    const { status, body } = await put({ logo_url: `${logo_url}x` });
    const detail = { field: 'logo_url', reason: 'conflict', message: `is changed by PUT ${LOGO}` };
    expect([status, body.details]).toEqual([422, [detail]]);
    expect((await put({ logo_url, radius: 3 })).body).toMatchObject({ logo_url, radius: 3 });
  });

  it('keeps its logo if a new one cannot be stored, and answers 503', async () => {
    await must(putLogo(decodePicture(PICTURES.png)));
    const before = (await company.as.get(PATH)).body;
    const FILES = { put: () => Promise.reject(new Error('the object store is down')) };
    const changed = { FILES } as unknown as Record<string, string>;
    const answer = await company.as.put(LOGO, { body: decodePicture(PICTURES.png), env: changed });
    expect([answer.status, answer.body.error]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect((await company.as.get(PATH)).body).toEqual(before);
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
    expect(fields(await put(json))).toEqual([422, names]);
    expect((await company.as.get(PATH)).body).toEqual(NO_BRANDING);
  });

  it('is refused with a message that names the two colours of low contrast', async () => {
    const { body } = await put({ background: '#888', text_color: '#999' });
    expect(body.details[0].message).toBe(
      '#999999 on the background #888888 has a contrast of 1.24; WCAG AA asks for 4.5',
    );
  });

  it('is checked for contrast again if another request changes a half of it meanwhile', async () => {
    const { env: overtaken, hasRun } = createRivalEnv(/^update "companies"/i, async () => {
      await must(put({ background: '#ffffff', text_color: '#000000', primary_color: '#000000' }));
    });
    await must(put({ background: '#000000', text_color: '#ffffff', primary_color: '#ffffff' }));
    const { status } = await company.as.put(PATH, { json: { primary_color: '#fefefe' }, env: overtaken });
    expect([status, hasRun()]).toEqual([422, true]);
  });
});

describe('the logo of a company', () => {
  it.each(Object.entries(PICTURES))('is stored and shown to anybody: %s', async (name, base64) => {
    const type = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp', lossless: 'image/webp' }[name];
    // What the request claims does not count.
    const { logo_url } = await must(putLogo(decodePicture(base64), { 'content-type': 'text/html' }));
    expect(logo_url.startsWith(`${BASE_URL}/api/v1/public/logos/`)).toBe(true);
    const { status, headers } = await call('GET', new URL(logo_url).pathname);
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
    expect(fields(await putLogo(form))).toEqual([422, ['logo']]);
    const text = new FormData();
    text.set('logo', 'no file');
    expect(fields(await putLogo(text))).toEqual([422, ['logo']]);
  });

  it.each([
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['a truncated PNG', decodePicture(PICTURES.png).slice(0, -5)],
    ['an empty file', ''],
  ])('is refused by its content: %s', async (_name, body) => {
    expect(fields(await putLogo(body, { 'content-type': 'image/png' }))).toEqual([422, ['logo']]);
    expect((await company.as.get(PATH)).body).toEqual(NO_BRANDING);
  });

  it('is refused when it is larger than 256 KiB, however it comes', async () => {
    const large = new Uint8Array(256 * 1024 + 1);
    large.set(decodePicture(PICTURES.png));
    const form = new FormData();
    form.set('logo', new File([large], 'logo.png'));
    for (const body of [large, form]) expect((await putLogo(body)).status).toBe(413);
  });

  it('replaces the one before, which is deleted', async () => {
    const before = new URL((await must(putLogo(decodePicture(PICTURES.png)))).logo_url).pathname;
    const after = new URL((await must(putLogo(decodePicture(PICTURES.jpeg)))).logo_url).pathname;
    expect((await call('GET', before)).status).toBe(404);
    expect((await call('GET', after)).status).toBe(200);
    expect((await put({ logo_url: null })).body).toEqual(NO_BRANDING);
    expect((await call('GET', after)).status).toBe(404);
    expect((await env.FILES.list({ prefix: `${after.split('/').at(-2)}/logos/` })).objects).toEqual([]);
  });

  it('is found at its own address only', async () => {
    const { pathname } = new URL((await must(putLogo(decodePicture(PICTURES.png)))).logo_url);
    const [companyId, id] = pathname.split('/').slice(-2);
    const at = '/api/v1/public/logos';
    for (const path of [`${at}/${'0'.repeat(24)}/${id}`, `${at}/${companyId}/${'0'.repeat(24)}`, `${at}/..%2f/${id}`]) {
      expect((await call('GET', path)).status).toBe(404);
    }
  });
});

describe('the brand that a viewer is shown', () => {
  it('is read together with the share or embed, without a further query', async () => {
    const owner = await aProvisionedCompany();
    const { dashboard } = await aSalesDashboard(owner);
    const { token } = await aShare(owner, dashboard._id);
    const embed = await must(owner.as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json: {} }));
    const page = async () => String((await call('GET', `/p/${token}`)).body);
    const { name } = (await must(owner.as.get('/v1/auth/me'))).context.company;
    expect(await page()).toContain(`id="branding">${JSON.stringify({ name })}</script>`);
    const paths = [`/api/v1/public/shares/${token}/resolve`, `/api/embed/d/${embed.token}/info`];
    for (const path of paths) expect((await must(call('GET', path))).branding).toEqual({ name });
    await must(owner.as.put(PATH, { json: BRAND }));
    const { logo_url } = await must(owner.as.put(LOGO, { body: decodePicture(PICTURES.png) }));
    for (const path of paths) {
      const { env: counting, calls } = createCountingD1();
      const { body } = await call('GET', path, { env: counting });
      expect(body.branding).toEqual({ ...BRAND, logo_url });
      expect(calls()).toBe(1);
    }
    const { env: counting, calls } = createCountingD1();
    const { body } = await call('GET', `/p/${token}`, { env: counting });
    expect([String(body).includes(JSON.stringify(BRAND.name)), calls()]).toEqual([true, 1]);
  });

  it('is in the page of the portal, before anybody has signed in', async () => {
    const html = async (slug: string) => String((await call('GET', `/portal/${slug}`)).body);
    const unknown = await html('no-such-company');
    expect(await html(company.slug)).toBe(unknown);
    await must(put({ name: '</script><script>alert(1)</script>' }));
    const page = await html(company.slug);
    const [, data = ''] = /<script type="application\/json" id="branding">(.*?)<\/script>/.exec(page) ?? [];
    expect(JSON.parse(data)).toEqual({ name: '</script><script>alert(1)</script>' });
    expect(page.replace(data, '{}')).toBe(unknown);
  });
});
