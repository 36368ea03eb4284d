import { createClient, type StoredSession, withSession } from 'data-console-client';
import 'data-console-embed';
import { type System, use } from './use.js';

/** A session that all tabs of this origin share. */
const store = {
  read: (): StoredSession | null => JSON.parse(localStorage.getItem('session') ?? 'null'),
  write: (session: StoredSession | null) => localStorage.setItem('session', JSON.stringify(session)),
};

async function signIn({ base_url: baseUrl, company, owner }: System): Promise<void> {
  const body = { company_slug: company.slug, ...owner };
  const answer = await createClient({ baseUrl }).post('/v1/auth/login', { body });
  if ('token' in answer) store.write({ ...answer, received_at: 1 });
}

/** Twenty requests at once. */
async function crowd({ base_url: baseUrl }: System): Promise<(string | undefined)[]> {
  const api = createClient({ baseUrl, credential: withSession({ store }) });
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.get('/v1/auth/me')));
  return answers.map(({ user }) => user?.email);
}

Object.assign(globalThis, { sample: { use, signIn, crowd } });
