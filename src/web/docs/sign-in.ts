import { ApiError, type Credential, createClient, withKey, withToken } from '../../../client/client.ts';
import { h, uniqueId } from '../dom.ts';

/** A request of the reader, as its interceptor is given it. */
interface ReaderRequest {
  url: string;
  method: string;
  body?: string;
  headers: Record<string, string>;
}

const api = createClient({ baseUrl: '' });

/** The panel to sign in for the requests of the page. The typed credential stays in this page's memory. */
export function signInPanel() {
  let credential: Credential | undefined;
  const status = h('p', { role: 'status' }, 'Requests are sent without a credential.');
  const use = (next: Credential | undefined, what: string): void => {
    credential = next;
    status.textContent = what;
  };

  const person = form('Sign in', [
    ['company_slug', 'Company', 'organization'],
    ['email', 'Email', 'username'],
    ['password', 'Password', 'current-password'],
    ['totp_token', 'Code, where a second factor is on', 'one-time-code'],
  ]);
  person.onsubmit = send(person, async ({ company_slug = '', email = '', password = '', totp_token = '' }) => {
    const answer = await api.post('/v1/auth/login', { body: { company_slug, email, password } });
    const signedIn =
      'pending_2fa_token' in answer
        ? await api.post('/v1/auth/2fa/login', {
            body: { pending_2fa_token: answer.pending_2fa_token as string, totp_token },
          })
        : answer;
    if (!('token' in signedIn)) throw new Error('A second factor has to be set up first, in the console.');
    use(withToken(signedIn.token as string), `Signed in as ${email}.`);
  });
  const token = form('Use a token', [['token', 'Token', 'off']]);
  token.onsubmit = send(token, async ({ token: given = '' }) => use(withToken(given), 'Requests carry the token.'));
  const key = form('Sign with a key', [
    ['access_key', 'Access key', 'off'],
    ['secret_key', 'Secret key', 'off'],
  ]);
  key.onsubmit = send(key, async ({ access_key = '', secret_key = '' }) =>
    use(withKey({ access_key, secret_key }), 'Requests are signed with the key.'),
  );
  const leave = h(
    'button',
    { type: 'button', onclick: () => use(undefined, 'Requests are sent without a credential.') },
    'Forget it',
  );
  const element = h(
    'details',
    { class: 'credential' },
    h('summary', {}, 'Who calls'),
    status,
    person,
    token,
    key,
    leave,
  );

  function send(target: HTMLFormElement, work: (fields: Record<string, string>) => Promise<void>) {
    return async (event: SubmitEvent) => {
      event.preventDefault();
      const fields = Object.fromEntries(
        Array.from(new FormData(target), ([name, value]) => [name, String(value).trim()]),
      );
      try {
        await work(fields);
        target.reset();
      } catch (error) {
        status.textContent = error instanceof ApiError ? String(Object(error.body).message) : (error as Error).message;
      }
    };
  }

  const ask = async (method: string, url: string, headers: Record<string, string>): Promise<unknown> => {
    const response = await fetch(url, { method, headers });
    if (!response.ok) throw new ApiError(`${method} ${url}`, response, await response.json());
    return response.json();
  };

  /** Puts the credential into a request, which is signed as it will be sent. */
  async function authorize(request: ReaderRequest): Promise<ReaderRequest> {
    const { method, body = '' } = request;
    const { href: url, origin: baseUrl } = new URL(request.url, location.href);
    const proof = await credential?.({
      method,
      url,
      body: typeof body === 'string' ? body : '',
      baseUrl,
      longestWait: 20,
      ask,
    });
    return { ...request, headers: { ...request.headers, ...proof } };
  }

  return { element, authorize };
}

function form(action: string, fields: [name: string, label: string, autocomplete: string][]): HTMLFormElement {
  const rows = fields.map(([name, label, autocomplete]) => {
    const id = uniqueId('credential');
    const isSecret = /password|secret/.test(name);
    const isOptional = name === 'totp_token';
    const input = h('input', { id, name, autocomplete, type: isSecret ? 'password' : 'text', required: !isOptional });
    return h('p', {}, h('label', { for: id }, label), input);
  });
  return h('form', {}, ...rows, h('button', {}, action));
}
