/**
 * A program without a browser, to which a person grants access on another device: see README.md.
 *
 *     node sign-in.ts ADDRESS [SCOPES]
 */
const [base = 'http://127.0.0.1:8787', scope = 'managed-tables:list'] = process.argv.slice(2);

interface Server {
  registration_endpoint: string;
  device_authorization_endpoint: string;
  token_endpoint: string;
}

interface Begun {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  interval: number;
}

interface Answered {
  access_token?: string;
  error?: string;
}

async function get<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const post = (url: string, fields: Record<string, string>): Promise<Response> =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields) });

/** Returns the parsed JSON of a response. @throws Error if the status is not a success */
async function must<T>(asked: Promise<Response>): Promise<T> {
  const response = await asked;
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const seconds = (count: number) => new Promise((resolve) => setTimeout(resolve, count * 1000));

// The API names who lets programs in, and that says how.
const { authorization_servers: servers } = await get<{ authorization_servers: string[] }>(
  `${base}/.well-known/oauth-protected-resource`,
);
const server = await get<Server>(`${servers[0]}/.well-known/oauth-authorization-server`);

const device = 'urn:ietf:params:oauth:grant-type:device_code';
const { client_id } = await must<{ client_id: string }>(
  fetch(server.registration_endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'Device example', grant_types: [device] }),
  }),
);

const begun = await must<Begun>(post(server.device_authorization_endpoint, { client_id, scope }));
console.log(`Open ${begun.verification_uri} and type ${begun.user_code}, or open ${begun.verification_uri_complete}`);

let { interval } = begun;
let token: string | undefined;
while (token === undefined) {
  await seconds(interval);
  const asked = await post(server.token_endpoint, { grant_type: device, client_id, device_code: begun.device_code });
  const answered = (await asked.json()) as Answered;
  token = answered.access_token;
  if (answered.error === 'slow_down') interval += 5;
  else if (answered.error !== undefined && answered.error !== 'authorization_pending') throw new Error(answered.error);
}

const tables = await must<{ records: { name: string }[] }>(
  fetch(`${base}/v1/managed-tables`, { headers: { Authorization: `Bearer ${token}` } }),
);
console.log(`Let in. Tables: ${tables.records.map(({ name }) => name).join(', ') || 'none yet'}`);
