import { beforeAll, describe, expect, it } from 'vitest';
import { replaceEncrypted } from '../../src/modules/managed-database/store.ts';
import { replaceClientSecret } from '../../src/modules/single-sign-on/store.ts';
import { inContext } from '../support/context.ts';
import { selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

describe('a client secret', () => {
  const PATH = '/v1/auth/sso/config';
  const json = {
    type: 'oidc',
    issuer: 'https://issuer.example.com',
    client_id: 'console',
    jit_provisioning: false,
    redirect_uris: ['https://console.test/sso'],
  };
  const put = (client_secret: string) => must(company.as.put(PATH, { json: { ...json, client_secret } }));
  const stored = async (): Promise<string> =>
    (
      await selectRow<{ client_secret: string }>(
        'select client_secret from sso_configurations where company_id = ?',
        company.id,
      )
    )?.client_secret as string;

  it('is not overwritten by an older one when another field is changed meanwhile', async () => {
    await put('the first secret');
    let ofRival = '';
    const rival = async () => {
      await put('the secret of the rival');
      ofRival = await stored();
    };
    const answer = await sendOvertaken(/^insert into "sso_configurations"/, rival, (env) =>
      company.as.put(PATH, { json, env }),
    );
    expect([answer.status, await stored()]).toEqual([200, ofRival]);
  });

  it('is not overwritten by an older one that was encrypted again under a newer key', async () => {
    await put('the first secret');
    const read = { companyId: company.id, clientSecret: await stored() };
    await put('the secret of the rival');
    const ofRival = await stored();
    await inContext({ kind: 'anonymous' }, (ctx) => replaceClientSecret(ctx.db, read, 'encrypted anew'));
    expect(await stored()).toBe(ofRival);
  });
});

describe('the encrypted columns of a company’s database', () => {
  const FIRST = { owner_connection: 'o', readonly_connection: 'r', reader_password: 'p' };

  it.each(Object.keys(FIRST))(
    'are not overwritten by older values that were encrypted again under a newer key: %s',
    async (changed) => {
      const { id } = await aCompany();
      await selectRow(
        `insert into managed_databases (id, company_id, status, owner_connection, readonly_connection, reader_password, created_at, updated_at)
       values (?1, ?1, 'ready', 'o', 'r', 'p', 0, 0)`,
        id,
      );
      await selectRow(`update managed_databases set ${changed} = 'of the rival' where company_id = ?`, id);
      const old = { companyId: id, ownerConnection: 'o', readonlyConnection: 'r', readerPassword: 'p' };
      const renewed = { companyId: id, ownerConnection: 'O', readonlyConnection: 'R', readerPassword: 'P' };
      await inContext({ kind: 'anonymous' }, (ctx) => replaceEncrypted(ctx.db, old, renewed));
      const columns = Object.keys(FIRST).join(', ');
      expect(await selectRow(`select ${columns} from managed_databases where company_id = ?`, id)).toEqual({
        ...FIRST,
        [changed]: 'of the rival',
      });
    },
  );
});
