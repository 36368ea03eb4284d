import { commitAccess, makeAffectedPrincipals } from '../../src/access/commit-access.ts';
import type { Bindings } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { prepareAccount } from '../../src/modules/accounts/service.ts';
import { insertCompany } from '../../src/modules/companies/service.ts';
import { prepareBinding, prepareGlobalGroup } from '../../src/modules/groups/service.ts';
import { prepareApiKey, prepareServiceAccount } from '../../src/modules/service-accounts/service.ts';

/** Creates a company whose administrators are all service accounts, without an owner: hashing passwords takes minutes. */
export async function createCompany(env: Bindings, execution: ExecutionContext, slug: string, principalCount: number) {
  const { context: ctx, close } = openContext(
    {
      env,
      waitUntil: (promise) => execution.waitUntil(promise),
      correlationId: crypto.randomUUID(),
      baseUrl: 'http://bench',
      ip: null,
      caller: () => ({ country: null, userAgent: null, origin: null, isFromOwnPage: true, locale: 'en' }),
      noteOwner: () => undefined,
    },
    { kind: 'anonymous' },
  );
  try {
    const [id, now] = [ctx.newId(), ctx.now()];
    const company = {
      id,
      slug,
      name: slug,
      require2fa: false,
      ssoOnly: false,
      locale: 'en' as const,
      branding: {},
      logo: null,
      suspendedAt: null,
      endRequestedAt: null,
      deletesAt: null,
      quotas: {},
      createdAt: now,
      updatedAt: now,
    };
    const account = prepareAccount(ctx, id, { name: 'default', isDefault: true, metadata: {} });
    const administrators = prepareGlobalGroup(ctx, id, 'administrators');
    const accountId = account.record.id;
    const serviceAccounts = await Promise.all(
      Array.from({ length: principalCount }, async (_, n) => {
        const serviceAccount = prepareServiceAccount(ctx, id, {
          name: `robot ${n}`,
          description: '',
          accountId,
          metadata: {},
        });
        const key = await prepareApiKey(ctx, company, serviceAccount.record, { description: '' });
        const membership = { companyId: id, groupId: administrators.record.id, accountId };
        const member = prepareBinding(ctx, {
          ...membership,
          principalType: 'service_account',
          principalId: serviceAccount.record.id,
        });
        return { robot: serviceAccount, key, member };
      }),
    );
    await commitAccess(ctx, makeAffectedPrincipals(id), {
      company: insertCompany(ctx.db, company),
      account: account.statement,
      groups: administrators.statements,
      robots: serviceAccounts.map(({ robot }) => robot.statement),
      keys: serviceAccounts.map(({ key }) => key.statement),
      members: serviceAccounts.map(({ member }) => member.statement),
    });
    return {
      id,
      keys: serviceAccounts.map(({ key }) => ({ access_key: key.record.accessKey, secret_key: key.secretKey })),
    };
  } finally {
    await close();
  }
}
