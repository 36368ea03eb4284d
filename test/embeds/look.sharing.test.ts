import { beforeAll, describe, expect, it } from 'vitest';
import { aSalesDashboard } from '../shares/support.ts';
import { call } from '../support/api.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { hostToken, type SigningKey } from './support.ts';

const THEME = { name: 'Partner', primary_color: '#063970', radius: 0 };

let company: Company;
let dashboardId: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  dashboardId = (await aSalesDashboard(company)).dashboard._id;
  await must(company.as.put('/v1/company/branding', { json: { name: 'Aves & Cia', font: 'serif', radius: 8 } }));
});

const generateEmbed = (json: unknown) => company.as.post(`/api/v1/embed/dashboards/${dashboardId}`, { json });

describe('an embed token', () => {
  it('may carry a theme, which overrides the brand of the company', async () => {
    const { token } = await must(generateEmbed({ theme: THEME }));
    const { branding } = await must(call('GET', `/api/embed/d/${token}/info`));
    expect(branding).toEqual({ ...THEME, font: 'serif' });
    // The page wears it before it has asked for anything.
    expect(String((await call('GET', `/embed/d/${token}`)).body)).toContain(JSON.stringify(THEME));
    const plain = await must(generateEmbed({}));
    const { branding: own } = await must(call('GET', `/api/embed/d/${plain.token}/info`));
    expect(own).toEqual({ name: 'Aves & Cia', font: 'serif', radius: 8 });
  });

  it('signed by a host may carry a theme and a language, too', async () => {
    const key: SigningKey = await must(company.as.post('/api/v1/embed/signing-keys'));
    const token = await hostToken(key, { dashboard_id: dashboardId, theme: THEME, locale: 'es-MX' });
    const { branding } = await must(call('GET', `/api/embed/d/${token}/info`));
    expect(branding).toEqual({ ...THEME, font: 'serif' });
    const { headers, body } = await call('GET', `/embed/d/${token}`);
    expect([headers.get('content-language'), String(body).includes(JSON.stringify(THEME))]).toEqual(['es', true]);
  });

  it.each([
    [{ background: '#ffffff', text_color: '#eeeeee' }, 'theme.text_color'],
    [{ font: 'Papyrus' }, 'theme.font'],
  ])('is refused with a theme of low contrast or unknown font: %j', async (theme, field) => {
    const { status, body } = await generateEmbed({ theme });
    expect([status, body.details?.[0]?.field]).toEqual([422, field]);
  });

  it('may name the language of its page, which the URL can override', async () => {
    const { token } = await must(generateEmbed({ locale: 'pt-BR' }));
    const languageOf = async (query = '') => {
      const headers = { 'accept-language': 'es' };
      return (await call('GET', `/embed/d/${token}${query}`, { headers })).headers.get('content-language');
    };
    expect(await languageOf()).toBe('pt-BR');
    expect(await languageOf('?locale=en')).toBe('en');
    expect((await generateEmbed({ locale: 'de' })).status).toBe(422);
  });
});
