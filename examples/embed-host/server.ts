/** A site that shows a dashboard in its own page, and signs the tokens for it: see README.md beside this file. */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { signEmbedToken } from '../embed/sign.ts';

const { PORT = '3000', CONSOLE_URL = 'http://127.0.0.1:8787', DASHBOARD_ID, KEY_ID, KEY_SECRET } = process.env;
if (!DASHBOARD_ID || !KEY_ID || !KEY_SECRET) throw new Error('Set DASHBOARD_ID, KEY_ID and KEY_SECRET.');
const claims = { dashboard_id: DASHBOARD_ID, allowed_params: (process.env.FILTERS ?? '').split(',').filter(Boolean) };

/** People who may sign in here, by id. Only the server may decide who is viewing a dashboard, never the page. */
const PEOPLE: Record<string, { attributes: Record<string, unknown> }> = {
  anna: { attributes: { region: ['north', 'south'] } },
  ben: { attributes: { region: ['east'] } },
};

/** Content security policy: allows only scripts of this site and the component, and only frames of the console. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "connect-src 'self'",
  `script-src 'self' ${CONSOLE_URL}`,
  `frame-src ${CONSOLE_URL}`,
].join('; ');

const FILES: Record<string, { file: string; type: string }> = {
  '/': { file: 'page.html', type: 'text/html; charset=utf-8' },
  '/page.js': { file: 'page.js', type: 'text/javascript' },
};

/** Returns the id of the signed-in person, from a cookie that stands in for your own session. */
const personOf = ({ headers }: IncomingMessage) => /(?:^|; )person=(\w+)/.exec(headers.cookie ?? '')?.[1] ?? '';

createServer(async (request, response) => {
  const url = URL.parse(request.url ?? '/', 'http://site');
  if (!url) return response.writeHead(404).end();
  const { pathname, searchParams } = url;
  response.setHeader('Content-Security-Policy', POLICY);
  if (pathname === '/sign-in') {
    const cookie = `person=${encodeURIComponent(searchParams.get('person') ?? '')}; HttpOnly; SameSite=Lax`;
    return response.writeHead(303, { Location: '/', 'Set-Cookie': cookie }).end();
  }
  if (pathname === '/dashboard-token') {
    const id = personOf(request);
    const person = Object.hasOwn(PEOPLE, id) && PEOPLE[id];
    if (!person) return response.writeHead(401).end();
    const viewer = { id, ...person };
    const allowed_origins = [`http://${request.headers.host}`];
    const token = await signEmbedToken({ id: KEY_ID, secret: KEY_SECRET }, { ...claims, viewer, allowed_origins });
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ token }));
  }
  const found = FILES[pathname];
  if (!found) return response.writeHead(404).end();
  const text = await readFile(new URL(found.file, import.meta.url), 'utf8');
  response.writeHead(200, { 'Content-Type': found.type }).end(text.replaceAll('{{console}}', CONSOLE_URL));
}).listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));
