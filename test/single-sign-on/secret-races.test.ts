import { describe, expect, it } from 'vitest';
import { replaceEncryptedConnections } from '../../src/modules/managed-database/store.ts';
import { replaceClientSecret } from '../../src/modules/single-sign-on/store.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';

const company = await createOwnedCompany();

const SSO_CONFIG_PATH = '/v1/auth/sso/config';
const json = {
  type: 'oidc',
  issuer: 'https://issuer.example.com',
  client_id: 'console',
  jit_provisioning: false,
  redirect_uris: ['https://console.test/sso'],
};
const putSecret = (client_secret: string) =>
  expectSuccess(company.as.put(SSO_CONFIG_PATH, { json: { ...json, client_secret } }));

describe('a client secret', () => {
  const readStoredSecret = async (): Promise<string> =>
    (
      await selectRow<{ client_secret: string }>(
        'select client_secret from sso_configurations where company_id = ?',
        company.id,
      )
    )?.client_secret as string;

  it('is not overwritten by an older one when another field is changed meanwhile', async () => {
    await putSecret('the first secret');
    let concurrentSecret = '';
    const putConcurrently = async () => {
      await putSecret('the secret of the rival');
      concurrentSecret = await readStoredSecret();
    };
    const answer = await sendDuringRace(/^insert into "sso_configurations"/, putConcurrently, (env) =>
      company.as.put(SSO_CONFIG_PATH, { json, env }),
    );
    expect([answer.status, await readStoredSecret()]).toEqual([200, concurrentSecret]);
  });

  it('is not overwritten by an older one that was encrypted again under a newer key', async () => {
    await putSecret('the first secret');
    const storedRow = { companyId: company.id, clientSecret: await readStoredSecret() };
    await putSecret('the secret of the rival');
    const concurrentSecret = await readStoredSecret();
    await runInContext({ kind: 'anonymous' }, (ctx) => replaceClientSecret(ctx.db, storedRow, 'encrypted anew'));
    expect(await readStoredSecret()).toBe(concurrentSecret);
  });
});

describe('the administrators', () => {
  const countNotices = (event: string) =>
    countRows(`mail_requests where company_id = ? and notice ->> 'event' = '${event}'`, company.id);

  it('are told of each configuration that was stored, and of no try that was not', async () => {
    await putSecret('the first secret');
    const noticesBefore = await countNotices('sso_changed');
    const answer = await sendDuringRace(
      /^insert into "sso_configurations"/,
      () => putSecret('the secret of the rival'),
      (env) => company.as.put(SSO_CONFIG_PATH, { json, env }),
    );
    expect([answer.status, (await countNotices('sso_changed')) - noticesBefore]).toEqual([200, 2]);
  });

  it('are told once of a configuration that two requests remove', async () => {
    await putSecret('the first secret');
    await sendTwice(/^delete from "sso_configurations"/, (env) => company.as.delete(SSO_CONFIG_PATH, { env }));
    expect(await countNotices('sso_removed')).toBe(1);
  });
});

describe('the encrypted columns of a company’s database', () => {
  const FIRST_VALUES = { owner_connection: 'o', readonly_connection: 'r', reader_password: 'p' };

  it.each(Object.keys(FIRST_VALUES))(
    'are not overwritten by older values that were encrypted again under a newer key: %s',
    async (changedColumn) => {
      const { id } = await createOwnedCompany();
      await selectRow(
        `insert into managed_databases (id, company_id, status, owner_connection, readonly_connection, reader_password, created_at, updated_at)
       values (?1, ?1, 'ready', 'o', 'r', 'p', 0, 0)`,
        id,
      );
      await selectRow(`update managed_databases set ${changedColumn} = 'of the rival' where company_id = ?`, id);
      const oldValues = { companyId: id, ownerConnection: 'o', readonlyConnection: 'r', readerPassword: 'p' };
      const renewedValues = { companyId: id, ownerConnection: 'O', readonlyConnection: 'R', readerPassword: 'P' };
      await runInContext({ kind: 'anonymous' }, (ctx) => replaceEncryptedConnections(ctx.db, oldValues, renewedValues));
      const columns = Object.keys(FIRST_VALUES).join(', ');
      expect(await selectRow(`select ${columns} from managed_databases where company_id = ?`, id)).toEqual({
        ...FIRST_VALUES,
        [changedColumn]: 'of the rival',
      });
    },
  );
});
