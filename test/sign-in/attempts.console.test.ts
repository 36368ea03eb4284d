import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AttemptLimiter, AttemptPermission } from '../../src/objects/attempt-limiter.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, PASSWORD } from '../support/companies.ts';
import { createFailingEnv } from '../support/outage.ts';
import { selectRow } from '../support/race.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const WINDOW_MS = 15 * 60 * 1000;
const HOME_IP = '203.0.113.7';
const STRANGER_IP = '198.51.100.1';

const company = await createOwnedCompany();
afterEach(() => vi.useRealTimers());

const logInFrom = (
  ip: string,
  email: string,
  password: string,
  requestOptions: { env?: Record<string, string> } = {},
) =>
  callApi('POST', '/v1/auth/login', {
    json: { company_slug: company.slug, email, password },
    headers: { 'cf-connecting-ip': ip },
    ...requestOptions,
  });
const listStatuses = (answers: ApiResponse[]) => answers.map(({ status }) => status);
const getLimiter = (name: string) => env.ATTEMPT_LIMITER.getByName(name) as DurableObjectStub<AttemptLimiter>;
const makePassword = (email: string) => `password:${company.id}:${email}`;

/** Records failed attempts in the limiter, as sign-ins with wrong passwords do. */
async function failGuesses(name: string, failureCount: number, limit: number): Promise<void> {
  const limiter = getLimiter(name);
  for (let count = 0; count < failureCount; count += 1) {
    const id = crypto.randomUUID();
    const { allowed } = await limiter.begin(id, limit, WINDOW_MS);
    if (allowed) await limiter.settle(id, true, WINDOW_MS);
  }
}

describe('wrong passwords from one network', () => {
  it('are limited for the e-mail address from that network only', async () => {
    const { email } = await createAllowedUser(company);
    const other = await createAllowedUser(company);
    await failGuesses(`${makePassword(email)}:${STRANGER_IP}`, 9, 10);
    expect((await logInFrom(STRANGER_IP, email, 'wrong-password')).status).toBe(400);
    const refusedSignIn = await logInFrom(STRANGER_IP, email, PASSWORD);
    expect([refusedSignIn.status, refusedSignIn.body.error]).toEqual([429, 'RateLimitExceeded']);
    expect(Number(refusedSignIn.headers.get('retry-after'))).toBeGreaterThan(800);
    expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(200);
    expect((await logInFrom(STRANGER_IP, other.email, PASSWORD)).status).toBe(200);
  });

  it('are counted for the /64 of an IPv6 address', async () => {
    const { email } = await createAllowedUser(company);
    const guesses = Array.from({ length: 10 }, (_, n) => logInFrom(`2001:db8:7:1::${n + 1}`, email, 'wrong-password'));
    expect(listStatuses(await Promise.all(guesses))).toEqual(Array(10).fill(400));
    expect((await logInFrom('2001:db8:7:1:ffff::1', email, PASSWORD)).status).toBe(429);
    expect((await logInFrom('2001:db8:7:2::1', email, PASSWORD)).status).toBe(200);
  });
});

describe('a hundred wrong passwords from many networks', () => {
  it.each(['somebody', 'nobody'])('allow sign-in only from networks known for the email of %s', async (accountKind) => {
    const email = accountKind === 'nobody' ? 'nobody@nowhere.test' : (await createAllowedUser(company)).email;
    if (accountKind === 'somebody') expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(200);
    await failGuesses(makePassword(email), 99, 100);
    expect((await logInFrom(STRANGER_IP, email, 'wrong-password')).status).toBe(400);
    const refusedSignIn = await logInFrom(STRANGER_IP, email, PASSWORD);
    expect([refusedSignIn.status, refusedSignIn.body.error]).toEqual([429, 'RateLimitExceeded']);
    expect(Number(refusedSignIn.headers.get('retry-after'))).toBeGreaterThan(800);
    expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(accountKind === 'nobody' ? 429 : 200);
  });

  it('refuse networks whose last sign-in was thirty days ago, and networks of another user', async () => {
    const { email } = await createAllowedUser(company);
    const other = await createAllowedUser(company);
    await logInFrom(HOME_IP, email, PASSWORD);
    await logInFrom('203.0.113.8', other.email, PASSWORD);
    await failGuesses(makePassword(email), 100, 100);
    expect((await logInFrom('203.0.113.8', email, PASSWORD)).status).toBe(429);
    advanceClock(30 * DAY_MS - 60_000);
    expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(200);
    advanceClock(60 * DAY_MS);
    expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(429);
    await runScheduled();
    const remainingNetworks = await selectRow('SELECT count(*) AS n FROM sign_in_networks');
    expect(remainingNetworks).toEqual({ n: 0 });
  });

  it('allow a known network ten wrong passwords in fifteen minutes', async () => {
    const { email } = await createAllowedUser(company);
    await logInFrom(HOME_IP, email, PASSWORD);
    await failGuesses(makePassword(email), 100, 100);
    await failGuesses(`${makePassword(email)}:${HOME_IP}`, 9, 10);
    expect((await logInFrom(HOME_IP, email, 'wrong-password')).status).toBe(400);
    expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(429);
  });
});

it('an outage of the control database does not count as a wrong password', async () => {
  const { email } = await createAllowedUser(company);
  const outageEnv = { env: createFailingEnv(/insert into "sessions"/) };
  for (let count = 0; count < 10; count += 1) {
    expect((await logInFrom(HOME_IP, email, PASSWORD, outageEnv)).status).toBe(500);
  }
  expect((await logInFrom(HOME_IP, email, PASSWORD)).status).toBe(200);
});

it('an outage during authentication is answered 500, not as a missing credential', async () => {
  const { as } = await createAllowedUser(company);
  expect((await as.post('/v1/auth/logout', { env: createFailingEnv(/from "sessions"/) })).status).toBe(500);
  expect((await as.get('/v1/auth/me')).status).toBe(200);
});

describe('the record of a sign-in attempt', () => {
  const readStorageSize = (limiter: DurableObjectStub<AttemptLimiter>) =>
    runInDurableObject(limiter, async (_object, { storage }) => ({
      tables: [...storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '_cf_METADATA'")].length,
      alarm: await storage.getAlarm(),
    }));
  const EMPTY_STORAGE = { tables: 0, alarm: null };

  it('is deleted when the password was right', async () => {
    const limiter = getLimiter('right');
    await limiter.begin('first', 10, WINDOW_MS);
    await limiter.settle('first', false, WINDOW_MS);
    expect(await readStorageSize(limiter)).toEqual(EMPTY_STORAGE);
  });

  it('is deleted when its window is over', async () => {
    const limiter = getLimiter(`${makePassword('invented@nowhere.test')}:${STRANGER_IP}`);
    await logInFrom(STRANGER_IP, 'invented@nowhere.test', 'wrong-password');
    expect(await readStorageSize(limiter)).not.toEqual(EMPTY_STORAGE);
    // Too early: the window is still open.
    await runDurableObjectAlarm(limiter);
    expect(await readStorageSize(limiter)).not.toEqual(EMPTY_STORAGE);
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + WINDOW_MS + 1000);
    await runDurableObjectAlarm(limiter);
    expect(await readStorageSize(limiter)).toEqual(EMPTY_STORAGE);
  });

  it('counts as no failure when a right password takes longer than its lease', async () => {
    const limiter = getLimiter('slow');
    await runInDurableObject(limiter, async (object: AttemptLimiter) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      await object.begin('slow', 1, WINDOW_MS);
      await vi.advanceTimersByTimeAsync(15_001);
      // Nobody knows yet how it ended.
      expect((await object.begin('second', 1, WINDOW_MS)).allowed).toBe(false);
      await object.settle('slow', false, WINDOW_MS);
      expect((await object.begin('third', 1, WINDOW_MS)).allowed).toBe(true);
    });
  });

  it('counts as a failure when the password was wrong, even if a restart lost its beginning', async () => {
    const restartedLimiter = getLimiter('restarted');
    await restartedLimiter.settle('begun before', true, WINDOW_MS);
    expect((await restartedLimiter.begin('next', 1, WINDOW_MS)).allowed).toBe(false);
  });
});

it('a call of the attempt limiter whose answer is lost is made again and counted once', async () => {
  const person = await createAllowedUser(company);
  let callCount = 0;
  const getByName = (name: string) => {
    const limiter = getLimiter(name);
    const loseFirstAnswer = async <T>(callResult: Promise<T>): Promise<T> => {
      const result = await callResult;
      callCount += 1;
      if (callCount % 2 === 1) throw Object.assign(new Error('The object was moved.'), { retryable: true });
      return result;
    };
    return {
      begin: (...attemptArguments: Parameters<AttemptLimiter['begin']>) =>
        loseFirstAnswer<AttemptPermission>(limiter.begin(...attemptArguments) as Promise<AttemptPermission>),
      settle: (...settleArguments: Parameters<AttemptLimiter['settle']>) =>
        loseFirstAnswer(limiter.settle(...settleArguments)),
    };
  };
  const losingEnv = { env: { ATTEMPT_LIMITER: { getByName } } as unknown as Record<string, string> };
  expect((await logInFrom(HOME_IP, person.email, PASSWORD, losingEnv)).status).toBe(200);
  // Ten may be wrong, and begun twice each would be twenty.
  for (let count = 0; count < 9; count += 1) await logInFrom(HOME_IP, person.email, PASSWORD, losingEnv);
  expect((await logInFrom(HOME_IP, person.email, PASSWORD)).status).toBe(200);
});
