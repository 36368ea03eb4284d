import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { selectRow, sendOvertaken } from '../support/rival.ts';
import { must, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

const DEAD = [400, 'INVALID_INVITATION_TOKEN'];

let company: Company;
let emails = 0;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const tokenFor = (email: string) => readLink(readNewestMail(email)).searchParams.get('token') as string;
const accept = (token: string, password = 'chosen-by-the-invited', env?: Record<string, string>) =>
  call('POST', '/v1/users/accept-invitation', { json: { token, password }, ...(env && { env }) });
const anInvited = async (teams?: string[]) => {
  const email = `invited-${++emails}@${company.slug}.test`;
  const { user } = await inviteUser(company, email, teams);
  return { email, id: user.id, token: tokenFor(email) };
};
const userOf = (id: string) =>
  selectRow<{ is_active: number; teams: string }>('select is_active, password_hash, teams from users where id = ?', id);

/** Accepts an invitation, and the rival comes just before it is used up. */
const acceptOvertaken = (token: string, rival: () => Promise<unknown>) =>
  sendOvertaken(/^delete from "invitations"/, rival, (env) => accept(token, 'chosen-too-late-by-far', env));

describe('an invitation', () => {
  it('is accepted once by two requests at the same time', async () => {
    const { id, token } = await anInvited();
    let hash: unknown;
    const answer = await acceptOvertaken(token, async () => {
      await must(accept(token));
      hash = (await userOf(id))?.['password_hash' as 'teams'];
    });
    expect(readStatusAndCode(answer)).toEqual(DEAD);
    expect(await userOf(id)).toMatchObject({ password_hash: hash });
  });

  it('makes nobody active when it is sent again meanwhile', async () => {
    const { id, email, token } = await anInvited();
    expect(readStatusAndCode(await acceptOvertaken(token, () => inviteUser(company, email)))).toEqual(DEAD);
    expect(await userOf(id)).toMatchObject({ is_active: 0 });
    expect((await accept(tokenFor(email))).status).toBe(200);
  });

  it('is renewed by another one that finds the email new, too', async () => {
    const email = `invited-${++emails}@${company.slug}.test`;
    const send = (env?: Record<string, string>) =>
      company.as.post('/v1/users/invite', { json: { email }, ...(env && { env }) });
    let first: Record<string, string> = {};
    const rival = async () => {
      first = await must(send());
    };
    const { status, body } = await sendOvertaken(/^insert into "users"/, rival, send);
    expect([status, body._id]).toEqual([201, first._id]);
    expect((await accept(tokenFor(email))).status).toBe(200);
  });

  it('sets no password for somebody who becomes active meanwhile in another way', async () => {
    const { id, token } = await anInvited();
    const answer = await acceptOvertaken(token, () => selectRow('update users set activated_at = 1 where id = ?', id));
    expect(readStatusAndCode(answer)).toEqual(DEAD);
    expect(await userOf(id)).toMatchObject({ password_hash: null });
  });

  it('makes nobody active who is deleted meanwhile', async () => {
    const { id, token } = await anInvited();
    const answer = await acceptOvertaken(token, () => must(signed(company.apiKey).delete(`/users/${id}`)));
    expect(readStatusAndCode(answer)).toEqual(DEAD);
    expect(await userOf(id)).toMatchObject({ is_active: 0 });
  });

  it('keeps the teams of a user who accepts an earlier one meanwhile', async () => {
    const { id, email, token } = await anInvited(['first']);
    const answer = await sendOvertaken(
      /^update "users" set "teams"/,
      () => must(accept(token)),
      (env) => company.as.post('/v1/users/invite', { json: { email, team_ids: ['0'.repeat(24)] }, env }),
    );
    expect(answer.status).toBe(201);
    expect(await userOf(id)).toMatchObject({ is_active: 1, teams: '["first"]' });
  });

  it('leaves the links of earlier ones working if it is not mailed', async () => {
    const { email } = await anInvited();
    for (let mails = 1; mails < 5; mails += 1) await inviteUser(company, email);
    const last = tokenFor(email);
    await inviteUser(company, email);
    expect((await accept(last)).status).toBe(200);
  });
});
