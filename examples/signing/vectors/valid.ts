import { type Draft, ORIGIN, signed, type ValidVector } from './vector.ts';

const USERS = `${ORIGIN}/users`;

const DRAFTS: [name: string, explanation: string, draft: Draft][] = [
  ['without a query', 'The fourth line is empty, and the digest is that of no bytes at all.', { url: USERS }],
  ['with a query', 'The query stands without its question mark.', { url: `${USERS}?page=2&quantity=50` }],
  [
    'query not sorted',
    'Parameters stay in the order in which they are sent.',
    { url: `${USERS}?quantity=5&page=1&order_by=-created_at` },
  ],
  ['query with a repeated name', 'Nothing is merged.', { url: `${USERS}?account_id=a&account_id=b` }],
  ['empty query', 'A bare question mark leaves the line empty.', { url: `${USERS}?` }],
  ['parameter without a value', '`a` and `a=` are different queries.', { url: `${USERS}?include_inactive` }],
  ['plus and %20', 'Nothing is decoded: both stay as they are sent.', { url: `${USERS}?order_by=a+b%20c` }],
  ['upper- and lower-case escapes', 'The case of percent escapes is kept.', { url: `${USERS}?order_by=%c3%A9%2f%2F` }],
  [
    'query that needs escapes',
    'Letters outside ASCII, quotes and spaces are escaped as `new URL` escapes them.',
    { url: `${USERS}?order_by="São Paulo"` },
  ],
  ['path that needs escapes', 'The same in the path.', { url: `${USERS}/joão` }],
  ['path with escapes', 'An escaped slash stays escaped.', { url: `${USERS}/a%2Fb%2fc` }],
  ['dot segments', 'The URL standard resolves them before anything is signed.', { url: `${USERS}/../accounts/./x` }],
  ['fragment', 'A fragment is never sent and never signed.', { url: `${USERS}?page=1#top` }],
  [
    'port and upper-case host',
    'The host is not part of what is signed.',
    { url: 'https://IAM.example.com:8443/users' },
  ],
  ['method in lower case', 'The method is signed in upper case.', { method: 'delete', url: `${USERS}/x` }],
  [
    'JSON body',
    'The digest covers the bytes that are sent, spaces included.',
    { method: 'POST', url: USERS, body: '{ "email": "ana@example.com",  "password": "a long password" }' },
  ],
  [
    'JSON body outside ASCII',
    'Bodies are digested as UTF-8.',
    { method: 'PATCH', url: `${USERS}/x`, body: '{"metadata":{"cidade":"São Paulo","emoji":"🦜"}}' },
  ],
  ['body of one newline', 'Not the same as no body.', { method: 'POST', url: USERS, body: '\n' }],
  ['date in whole seconds', 'A fraction is not required.', { date: '2026-01-31T12:00:00Z' }],
  ['date with microseconds', 'Up to nine digits of a fraction are accepted.', { date: '2026-01-31T12:00:00.123456Z' }],
  ['date with nanoseconds', 'Nine digits of a fraction are the most.', { date: '2026-01-31T12:00:00.123456789Z' }],
  [
    'date with the offset of UTC',
    'As Python writes it: `datetime.now(timezone.utc).isoformat()`.',
    { date: '2026-01-31T12:00:00.492000+00:00' },
  ],
  ['300 seconds late', 'The last date that is accepted.', { date: '2026-01-31T11:55:00.000Z' }],
  ['300 seconds early', 'The first date that is accepted.', { date: '2026-01-31T12:05:00.000Z' }],
  ['shortest nonce', 'Eight characters.', { nonce: 'nonce-08' }],
  ['longest nonce', '128 characters.', { nonce: 'n'.repeat(128) }],
  [
    'nonce of punctuation',
    'Every printable ASCII character but the space.',
    { nonce: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~' },
  ],
];

/** Makes the requests that must be accepted. */
export const makeValidVectors = (): Promise<ValidVector[]> =>
  Promise.all(
    DRAFTS.map(async ([name, explanation, draft]) => ({ name, explanation, ...(await signed(name, draft)) })),
  );
