import { describe, expect, it } from 'vitest';
import { createDirectory, GROUPS_PATH, makeGroupInput, USERS_PATH } from '../directory/support.ts';
import { createOwnedCompany } from '../support/companies.ts';

const INVALID_GROUP = { json: { name: 'x', slug: 'sales', description: 'Of a test of words.' } };
const makeLanguageHeaders = (language: string) => ({ headers: { 'accept-language': language } });

const company = await createOwnedCompany();

describe('an error', () => {
  it.each([
    ['en', 'en', 'The request is not valid.', 'must have at least 2 characters'],
    ['pt', 'pt-BR', 'A requisição não é válida.', 'deve ter pelo menos 2 caracteres'],
    ['es-MX,en;q=0.5', 'es', 'La solicitud no es válida.', 'debe tener al menos 2 caracteres'],
    ['*', 'en', 'The request is not valid.', 'must have at least 2 characters'],
    ['xx', 'en', 'The request is not valid.', 'must have at least 2 characters'],
    [`es;q=0.1,${'x'.repeat(4096)}`, 'es', 'La solicitud no es válida.', 'debe tener al menos 2 caracteres'],
  ])(
    'is worded in the language that Accept-Language asks for: %s',
    async (acceptedLanguages, language, message, nameMessage) => {
      const { status, headers, body } = await company.as.post('/v1/groups', {
        ...INVALID_GROUP,
        ...makeLanguageHeaders(acceptedLanguages),
      });
      expect([status, headers.get('content-language'), body.message]).toEqual([422, language, message]);
      expect(headers.get('vary')).toContain('Accept-Language');
      expect(body.details).toEqual([{ field: 'name', reason: 'too_short', message: nameMessage, limits: { min: 2 } }]);
    },
  );

  it('is worded in English without Accept-Language', async () => {
    expect((await company.as.post('/v1/groups', INVALID_GROUP)).body.message).toBe('The request is not valid.');
  });

  it.each([
    ['', 'pt-BR', 'Tabela não encontrada.'],
    ['*', 'pt-BR', 'Tabela não encontrada.'],
    ['xx', 'pt-BR', 'Tabela não encontrada.'],
    ['en', 'en', 'There is no such table.'],
    ['es', 'es', 'No se encontró: tabla.'],
  ])(
    'of managed tables has a Portuguese `error` beside a `message` in the requested language: "%s"',
    async (acceptedLanguages, language, message) => {
      const { status, headers, body } = await company.as.get(
        `/v1/managed-tables/${'0'.repeat(24)}`,
        makeLanguageHeaders(acceptedLanguages),
      );
      expect([status, headers.get('content-language')]).toEqual([404, language]);
      expect(body).toEqual({ error: 'Tabela não encontrada.', error_code: 'NOT_FOUND', message });
    },
  );

  it.each([
    ['en', 'The filter lacks a ) at its end.', 'userName must be sent.', 'Some members are no users of this company.'],
    [
      'pt',
      'O filtro não tem ) no fim.',
      'userName deve ser enviado.',
      'Alguns membros não são usuários desta empresa.',
    ],
    [
      'es',
      'El filtro no tiene ) al final.',
      'userName se debe enviar.',
      'Algunos miembros no son usuarios de esta empresa.',
    ],
  ])(
    'of SCIM is worded in the requested language, too: %s',
    async (language, filterMessage, userMessage, membersMessage) => {
      const directory = await createDirectory(company);
      const makeRequest = (json: object) => ({ ...makeLanguageHeaders(language), json });
      const answers = [
        await directory.get(`${USERS_PATH}?filter=(active%20pr`, makeLanguageHeaders(language)),
        await directory.post(USERS_PATH, makeRequest({ schemas: [] })),
        await directory.post(GROUPS_PATH, makeRequest(makeGroupInput({ members: [{ value: 'nobody' }] }))),
      ];
      expect(answers.map(({ status, body }) => [status, body.detail])).toEqual([
        [400, filterMessage],
        [400, userMessage],
        [400, membersMessage],
      ]);
    },
  );

  it('names a query parameter that the route does not have as unknown', async () => {
    const query = await company.as.get('/v1/groups?colour=red');
    expect(query.body.details).toEqual([
      { field: 'colour', reason: 'unknown', message: 'is not a parameter of this route' },
    ]);
  });

  it('distinguishes a missing field (required) from an empty one (too_short)', async () => {
    const { body } = await company.as.post('/v1/groups', { json: { slug: '' } });
    const reasons = Object.fromEntries(
      body.details.map(({ field, reason }: { field: string; reason: string }) => [field, reason]),
    );
    expect(reasons).toMatchObject({ name: 'required', slug: 'too_short', description: 'required' });
  });

  const SAMPLE_STATEMENT = { effect: 'Allow', actions: ['users:list'], resources: ['*'] };
  const makePolicy = (...statements: object[]) => ({
    name: 'Words',
    document: { version: '2024-01-01', statements },
  });
  const REQUIRED_DETAIL = { reason: 'required' };
  const EMPTY_DETAIL = { reason: 'too_short', limits: { min: 1 } };
  const TOO_FEW_DETAIL = { reason: 'too_few', limits: { min: 1 } };

  it.each<[string, 'post' | 'put', string, object, Record<string, object>]>([
    ['a missing action', 'post', '/v1/policies/who-can', { resource: '*' }, { action: REQUIRED_DETAIL }],
    [
      'an empty resource',
      'post',
      '/v1/policies/who-can',
      { action: 'users:list', resource: '' },
      { resource: EMPTY_DETAIL },
    ],
    ['a missing document', 'post', '/v1/policies', { name: 'zz' }, { document: REQUIRED_DETAIL }],
    [
      'an empty document',
      'post',
      '/v1/policies',
      { name: 'zz', document: {} },
      { 'document.version': REQUIRED_DETAIL, 'document.statements': REQUIRED_DETAIL },
    ],
    [
      'an empty statement',
      'post',
      '/v1/policies',
      makePolicy({}),
      {
        'document.statements.0.effect': REQUIRED_DETAIL,
        'document.statements.0.actions': REQUIRED_DETAIL,
        'document.statements.0.resources': REQUIRED_DETAIL,
      },
    ],
    ['no statements', 'post', '/v1/policies', makePolicy(), { 'document.statements': TOO_FEW_DETAIL }],
    [
      'no actions, and a text for resources',
      'post',
      '/v1/policies',
      makePolicy({ ...SAMPLE_STATEMENT, actions: [], resources: '*' }),
      { 'document.statements.0.actions': TOO_FEW_DETAIL, 'document.statements.0.resources': { reason: 'type' } },
    ],
    [
      'too many actions',
      'post',
      '/v1/policies',
      makePolicy({ ...SAMPLE_STATEMENT, actions: Array.from({ length: 257 }, () => 'users:list') }),
      { 'document.statements.0.actions': { reason: 'too_many', limits: { max: 256 } } },
    ],
    ['a missing discriminator', 'put', '/v1/auth/sso/config', {}, { type: REQUIRED_DETAIL }],
    [
      'an unknown discriminator',
      'put',
      '/v1/auth/sso/config',
      { type: 'kerberos' },
      { type: { reason: 'not_one_of' } },
    ],
    [
      'an empty resource of a statement',
      'post',
      '/v1/policies',
      makePolicy({ ...SAMPLE_STATEMENT, resources: [''] }),
      { 'document.statements.0.resources.0': EMPTY_DETAIL },
    ],
    ['an empty address of a file', 'post', '/v1/managed-tables/upload-from-url', { url: '' }, { url: EMPTY_DETAIL }],
    ['an empty email address', 'post', '/v1/auth/passwordless/request', { email: '' }, { email: EMPTY_DETAIL }],
    ['a value that two rules refuse, told once', 'post', '/v1/groups', { name: '' }, { name: EMPTY_DETAIL }],
    [
      'a recipient with two kinds of address, and one with none',
      'post',
      '/v1/schedules',
      { recipients: [{ user_id: 'x', email: 'x@example.com' }, {}] },
      { 'recipients.0': { reason: 'conflict' }, 'recipients.1': REQUIRED_DETAIL },
    ],
  ])('says why a value is refused: %s', async (_what, method, path, json, expected) => {
    const { status, body } = await company.as[method](path, { json });
    expect(status).toBe(422);
    for (const [field, explained] of Object.entries(expected)) {
      const details = body.details.filter((detail: { field: string }) => detail.field === field);
      expect(details).toEqual([{ field, message: expect.any(String), ...explained }]);
    }
  });

  it('says that a query parameter must be sent once', async () => {
    const { status, body } = await company.as.get('/v1/users?page=1&page=2&sort_by=name&sort_by=name');
    expect([status, body.details]).toEqual([
      422,
      ['page', 'sort_by'].map((field) => ({ field, reason: 'too_many', message: 'must be sent once' })),
    ]);
  });

  it('of the rate limit says when to try again, in the requested language', async () => {
    const env = { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' };
    const readUser = () => company.as.get('/v1/auth/me', { env, ...makeLanguageHeaders('es') });
    await readUser();
    const { status, body } = await readUser();
    expect([status, body.error]).toEqual([429, 'RateLimitExceeded']);
    expect(body.message).toMatch(/^Demasiadas solicitudes\. Inténtelo de nuevo en \d+ segundos?\.$/);
  });
});
