import { ApiError, type Credential, createClient, withKey, withToken } from '../../../client/client.ts';
import { createUniqueId, h } from '../dom.ts';

/** A request of the API reference page, as its request interceptor receives it. */
interface ReaderRequest {
  url: string;
  method: string;
  body?: string;
  headers: Record<string, string>;
}

const apiClient = createClient({ baseUrl: '' });

/** Creates the panel that sets the credential for the requests of the page. The typed credential stays in this page's memory. */
export function createSignInPanel() {
  let credential: Credential | undefined;
  const status = h('p', { role: 'status' }, 'Requests are sent without a credential.');
  const useCredential = (newCredential: Credential | undefined, statusText: string): void => {
    credential = newCredential;
    status.textContent = statusText;
  };

  const passwordForm = buildForm('Sign in', [
    ['company_slug', 'Company', 'organization'],
    ['email', 'Email', 'username'],
    ['password', 'Password', 'current-password'],
    ['totp_token', 'Code, where a second factor is on', 'one-time-code'],
  ]);
  passwordForm.onsubmit = submitForm(
    passwordForm,
    async ({ company_slug = '', email = '', password = '', totp_token = '' }) => {
      const answer = await apiClient.post('/v1/auth/login', { body: { company_slug, email, password } });
      const loginResult =
        'pending_2fa_token' in answer
          ? await apiClient.post('/v1/auth/2fa/login', {
              body: { pending_2fa_token: answer.pending_2fa_token as string, totp_token },
            })
          : answer;
      if (!('token' in loginResult)) throw new Error('A second factor has to be set up first, in the console.');
      useCredential(withToken(loginResult.token as string), `Signed in as ${email}.`);
    },
  );
  const token = buildForm('Use a token', [['token', 'Token', 'off']]);
  token.onsubmit = submitForm(token, async ({ token: typedToken = '' }) =>
    useCredential(withToken(typedToken), 'Requests carry the token.'),
  );
  const key = buildForm('Sign with a key', [
    ['access_key', 'Access key', 'off'],
    ['secret_key', 'Secret key', 'off'],
  ]);
  key.onsubmit = submitForm(key, async ({ access_key = '', secret_key = '' }) =>
    useCredential(withKey({ access_key, secret_key }), 'Requests are signed with the key.'),
  );
  const forgetButton = h(
    'button',
    { type: 'button', onclick: () => useCredential(undefined, 'Requests are sent without a credential.') },
    'Forget it',
  );
  const element = h(
    'details',
    { class: 'credential' },
    h('summary', {}, 'Who calls'),
    status,
    passwordForm,
    token,
    key,
    forgetButton,
  );

  function submitForm(target: HTMLFormElement, sendFields: (fields: Record<string, string>) => Promise<void>) {
    return async (event: SubmitEvent) => {
      event.preventDefault();
      const fields = Object.fromEntries(
        Array.from(new FormData(target), ([name, value]) => [name, String(value).trim()]),
      );
      try {
        await sendFields(fields);
        target.reset();
      } catch (error) {
        status.textContent = error instanceof ApiError ? String(Object(error.body).message) : (error as Error).message;
      }
    };
  }

  const sendRequest = async (method: string, url: string, headers: Record<string, string>): Promise<unknown> => {
    const response = await fetch(url, { method, headers });
    if (!response.ok) throw new ApiError(`${method} ${url}`, response, await response.json());
    return response.json();
  };

  /** Adds the credential to a request; a signature is made for the exact URL and body that will be sent. */
  async function authorize(request: ReaderRequest): Promise<ReaderRequest> {
    const { method, body = '' } = request;
    const { href: url, origin: baseUrl } = new URL(request.url, location.href);
    const proof = await credential?.({
      method,
      url,
      body: typeof body === 'string' ? body : '',
      baseUrl,
      longestWait: 20,
      ask: sendRequest,
    });
    return { ...request, headers: { ...request.headers, ...proof } };
  }

  return { element, authorize };
}

function buildForm(action: string, fields: [name: string, label: string, autocomplete: string][]): HTMLFormElement {
  const rows = fields.map(([name, label, autocomplete]) => {
    const id = createUniqueId('credential');
    const isSecret = /password|secret/.test(name);
    const isOptional = name === 'totp_token';
    const input = h('input', { id, name, autocomplete, type: isSecret ? 'password' : 'text', required: !isOptional });
    return h('p', {}, h('label', { for: id }, label), input);
  });
  return h('form', {}, ...rows, h('button', {}, action));
}
