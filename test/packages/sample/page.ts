import { createClient, type StoredSession, withSession } from 'data-console-client';
import 'data-console-embed';
import { type DemoSystem, useClient } from './use.js';

/** The storage of a session that all tabs of this origin share. */
const sessionStore = {
  read: (): StoredSession | null => JSON.parse(localStorage.getItem('session') ?? 'null'),
  write: (session: StoredSession | null) => localStorage.setItem('session', JSON.stringify(session)),
};

async function signIn({ base_url: baseUrl, company, owner }: DemoSystem): Promise<void> {
  const body = { company_slug: company.slug, ...owner };
  const answer = await createClient({ baseUrl }).post('/v1/auth/login', { body });
  if ('token' in answer) sessionStore.write({ ...answer, received_at: 1 });
}

/** Sends twenty requests at once. */
async function sendCrowd({ base_url: baseUrl }: DemoSystem): Promise<(string | undefined)[]> {
  const api = createClient({ baseUrl, credential: withSession({ store: sessionStore }) });
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.get('/v1/auth/me')));
  return answers.map(({ user }) => user?.email);
}

Object.assign(globalThis, { sample: { use: useClient, signIn, crowd: sendCrowd } });
