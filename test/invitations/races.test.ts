import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow, sendDuringRace } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';

const INVALID_TOKEN_ERROR = [400, 'INVALID_INVITATION_TOKEN'];

let emailCount = 0;
const company = await createOwnedCompany();
const group = await selectRow<{ id: string }>(
  "select id from groups where company_id = ? and slug = 'viewers'",
  company.id,
);

const readInvitationToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token') as string;
const acceptInvitation = (token: string, password = 'chosen-by-the-invited', env?: Record<string, string>) =>
  callApi('POST', '/v1/users/accept-invitation', { json: { token, password }, env });
const inviteNewUser = async (teams?: string[]) => {
  const email = `invited-${++emailCount}@${company.slug}.test`;
  const { user } = await inviteUser(company, email, teams);
  return { email, id: user.id, token: readInvitationToken(email) };
};
const selectUserState = (id: string) =>
  selectRow<{ is_active: number; teams: string }>('select is_active, password_hash, teams from users where id = ?', id);

/** Accepts an invitation, and runs a concurrent request just before the invitation is deleted. */
const acceptDuringRace = (token: string, runConcurrently: () => Promise<unknown>) =>
  sendDuringRace(/^delete from "invitations"/, runConcurrently, (env) =>
    acceptInvitation(token, 'chosen-too-late-by-far', env),
  );

/** Invites a user into a group, and runs a concurrent request just before that is written. */
const inviteDuringRace = (email: string, runConcurrently: () => Promise<unknown>) =>
  sendDuringRace(/^update "users" set "teams"/, runConcurrently, (env) =>
    company.as.post('/v1/users/invite', {
      json: { email, team_ids: ['0'.repeat(24)], group_ids: [group?.id] },
      env,
    }),
  );
const countRowsOfUser = async (id: string) => ({
  invitations: await countRows('invitations where user_id = ?', id),
  memberships: await countRows('group_bindings where principal_id = ?', id),
});

describe('an invitation', () => {
  it('is accepted once by two requests at the same time', async () => {
    const { id, token } = await inviteNewUser();
    let passwordHash: unknown;
    const answer = await acceptDuringRace(token, async () => {
      await expectSuccess(acceptInvitation(token));
      passwordHash = (await selectUserState(id))?.['password_hash' as 'teams'];
    });
    expect(readStatusAndCode(answer)).toEqual(INVALID_TOKEN_ERROR);
    expect(await selectUserState(id)).toMatchObject({ password_hash: passwordHash });
  });

  it('activates no user when it is sent again meanwhile', async () => {
    const { id, email, token } = await inviteNewUser();
    expect(readStatusAndCode(await acceptDuringRace(token, () => inviteUser(company, email)))).toEqual(
      INVALID_TOKEN_ERROR,
    );
    expect(await selectUserState(id)).toMatchObject({ is_active: 0 });
    expect((await acceptInvitation(readInvitationToken(email))).status).toBe(200);
  });

  it('is renewed by another one whose request also finds no user with the email', async () => {
    const email = `invited-${++emailCount}@${company.slug}.test`;
    const sendInvitation = (env?: Record<string, string>) =>
      company.as.post('/v1/users/invite', { json: { email }, env });
    let first: Record<string, string> = {};
    const inviteConcurrently = async () => {
      first = await expectSuccess(sendInvitation());
    };
    const { status, body } = await sendDuringRace(/^insert into "users"/, inviteConcurrently, sendInvitation);
    expect([status, body._id]).toEqual([201, first._id]);
    expect((await acceptInvitation(readInvitationToken(email))).status).toBe(200);
  });

  it('sets no password for a user who becomes active meanwhile in another way', async () => {
    const { id, token } = await inviteNewUser();
    const answer = await acceptDuringRace(token, () => selectRow('update users set activated_at = 1 where id = ?', id));
    expect(readStatusAndCode(answer)).toEqual(INVALID_TOKEN_ERROR);
    expect(await selectUserState(id)).toMatchObject({ password_hash: null });
  });

  it('activates no user who is deleted meanwhile', async () => {
    const { id, token } = await inviteNewUser();
    const answer = await acceptDuringRace(token, () =>
      expectSuccess(createSignedCaller(company.apiKey).delete(`/users/${id}`)),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID_TOKEN_ERROR);
    expect(await selectUserState(id)).toMatchObject({ is_active: 0 });
  });

  it('changes, joins and mails nothing for a user who accepts an earlier invitation meanwhile', async () => {
    const { id, email, token } = await inviteNewUser(['first']);
    const answer = await inviteDuringRace(email, () => expectSuccess(acceptInvitation(token)));
    expect(readStatusAndCode(answer)).toEqual([400, 'USER_EMAIL_DUPLICATE']);
    expect(await selectUserState(id)).toMatchObject({ is_active: 1, teams: '["first"]' });
    expect(await countRowsOfUser(id)).toEqual({ invitations: 0, memberships: 0 });
    expect(await countRows('mail_requests where email = ?', email)).toBe(1);
  });

  it('is one to a new user when the invited one is deleted meanwhile', async () => {
    const { id, email } = await inviteNewUser();
    const answer = await inviteDuringRace(email, () =>
      expectSuccess(createSignedCaller(company.apiKey).delete(`/users/${id}`)),
    );
    expect(answer.status).toBe(201);
    expect(answer.body._id).not.toBe(id);
    expect(await countRowsOfUser(answer.body._id)).toEqual({ invitations: 1, memberships: 1 });
    expect(await countRows('mail_requests where email = ?', email)).toBe(2);
  });

  it('leaves the links of earlier invitations working if it is not mailed', async () => {
    const { email } = await inviteNewUser();
    for (let mailCount = 1; mailCount < 5; mailCount += 1) await inviteUser(company, email);
    const lastToken = readInvitationToken(email);
    await inviteUser(company, email);
    expect((await acceptInvitation(lastToken)).status).toBe(200);
  });
});
