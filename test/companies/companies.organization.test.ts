import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';

const createOrganization = (
  json: unknown,
  token: string | null = 'operator-token-of-the-tests',
  env?: Record<string, string>,
) =>
  callApi('POST', '/admin/organizations', {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    json,
    env,
  });

const makeInput = (overrides: Record<string, unknown> = {}) => ({
  name: 'Acme',
  slug: `acme-${Math.random().toString(36).slice(2, 8)}`,
  owner: { email: 'Olga@Acme.test', name: 'Olga', password: 'correct-horse-battery' },
  ...overrides,
});

describe('the creation of an organization', () => {
  it('returns the organization, its owner, default account, service account and key', async () => {
    const organizationInput = makeInput();
    const { status, body } = await createOrganization(organizationInput);
    expect(status).toBe(201);
    expect(body.organization).toEqual({
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      name: 'Acme',
      slug: organizationInput.slug,
      created_at: expect.stringMatching(/Z$/),
    });
    expect(body.owner).toEqual({ id: expect.any(String), email: 'olga@acme.test', name: 'Olga' });
    expect(body.default_account).toMatchObject({
      name: 'default',
      is_default: true,
      organization_id: body.organization.id,
    });
    expect(body.service_account).toMatchObject({
      account_id: body.default_account.id,
      is_active: true,
      last_used_at: null,
    });
    expect(body.api_key.access_key).toMatch(
      new RegExp(`^sa_${organizationInput.slug}_${body.default_account.id}_[a-z2-7]{20}$`),
    );
    expect(body.api_key.secret_key).toMatch(/^[\w-]{43}$/);
  });

  it.each([
    ['no token', null],
    ['a wrong token', 'wrong'],
    ['a longer token', 'operator-token-of-the-tests-and-more'],
  ])('is refused with %s', async (_what, token) => {
    const { status, body } = await createOrganization(makeInput(), token);
    expect(status).toBe(401);
    expect(body.error).toBe('Unauthorized');
  });

  it('is answered 404 if no operator token is configured', async () => {
    const { status } = await createOrganization(makeInput(), 'x', {
      PLATFORM_ADMIN_TOKEN: undefined as unknown as string,
    });
    expect(status).toBe(404);
  });

  it.each([
    ['a reserved slug', { slug: 'dashboards' }, 'slug'],
    ['an upper-case slug', { slug: 'Acme' }, 'slug'],
    ['a slug with two hyphens', { slug: 'a--b' }, 'slug'],
    ['no name', { name: ' ' }, 'name'],
    ['a short password', { owner: { email: 'a@b.co', name: 'A', password: 'short' } }, 'owner.password'],
    ['a common password', { owner: { email: 'a@b.co', name: 'A', password: 'Password123' } }, 'owner.password'],
    ['a bad email', { owner: { email: 'nobody', name: 'A', password: 'correct-horse' } }, 'owner.email'],
  ])('refuses %s, naming the field', async (_what, overrides, field) => {
    const { status, body } = await createOrganization(makeInput(overrides));
    expect([status, body.error]).toEqual([422, 'ValidationError']);
    expect(body.details).toContainEqual(expect.objectContaining({ field, message: expect.any(String) }));
  });
});
