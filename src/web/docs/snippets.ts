import { h } from '../dom.ts';
import type { Operation } from './reference.ts';

/** The request that was really made, of which the document holds the parts. */
interface Example {
  method: string;
  path: string;
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: unknown;
  /** Whether the request sends files as a multipart form instead of JSON. */
  isForm: boolean;
  credential: 'signature' | 'bearer' | 'none';
  baseUrl: string;
}

function makeExample({ method, path, object }: Operation, baseUrl: string): Example {
  const { parameters = [], requestBody, security = [] } = object;
  const said = (place: string) =>
    Object.fromEntries(
      parameters.flatMap(({ name, in: where, required, example }) => {
        const isTold = where === place && (example !== undefined || required);
        return isTold ? [[name, example ?? `{${name}}`]] : [];
      }),
    );
  const content = requestBody?.content ?? {};
  const [scheme] = security.flatMap((way) => Object.keys(way));
  return {
    method,
    path,
    params: said('path'),
    query: said('query'),
    body: content['application/json']?.example,
    isForm: content['multipart/form-data'] !== undefined && content['application/json'] === undefined,
    credential: scheme === undefined ? 'none' : scheme === 'signature' ? 'signature' : 'bearer',
    baseUrl,
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const formatPath = ({ path, params, query }: Example): string => {
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name) =>
    name in params ? encodeURIComponent(String(params[name])) : whole,
  );
  return asked ? `${filled}?${asked}` : filled;
};

function curl(example: Example): string {
  const { method, body, isForm, credential, baseUrl } = example;
  const url = quoted(baseUrl + formatPath(example));
  const json = body === undefined ? undefined : quoted(JSON.stringify(body));
  if (credential === 'signature')
    return [
      '# examples/signing/sign.sh, with ACCESS_KEY and SECRET_KEY set',
      `./sign.sh ${method} ${url}${json ? ` ${json}` : ''}`,
    ].join('\n');
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${url}`,
    ...(credential === 'bearer' ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(json ? ["-H 'Content-Type: application/json'", `-d ${json}`] : []),
    ...(isForm ? ["-F 'files=@data.csv'"] : []),
  ];
  return lines.join(' \\\n  ');
}

function typescript({ method, path, params, query, body, isForm, credential, baseUrl }: Example): string {
  const make = { signature: 'withKey({ access_key, secret_key })', bearer: 'withToken(token)', none: undefined }[
    credential
  ];
  const input = [
    ...(Object.keys(params).length > 0 ? [`params: ${JSON.stringify(params)}`] : []),
    ...(Object.keys(query).length > 0 ? [`query: ${JSON.stringify(query)}`] : []),
    ...(body === undefined ? [] : [`body: ${JSON.stringify(body, null, 2)}`]),
    ...(isForm ? ['form'] : []),
  ];
  const names = ['createClient', ...(make ? [make.replace(/\(.*/, '')] : [])];
  return [
    `import { ${names.join(', ')} } from 'data-console-client';`,
    '',
    `const client = createClient({ baseUrl: '${baseUrl}'${make ? `, credential: ${make}` : ''} });`,
    ...(isForm ? ['const form = new FormData();', "form.append('files', file);"] : []),
    `const answer = await client.${method.toLowerCase()}('${path}'${input.length > 0 ? `, { ${input.join(', ')} }` : ''});`,
  ].join('\n');
}

const SIGNED_IN_PYTHON = [
  'def signed(method, url, body):',
  '    parts = urlsplit(url)',
  "    date = datetime.now(timezone.utc).isoformat(timespec='milliseconds')",
  '    nonce, digest = str(uuid4()), sha256(body).hexdigest()',
  "    lines = ['HMAC-SHA256', method, parts.path, parts.query, date, nonce, digest]",
  "    signature = hmac.new(SECRET_KEY.encode(), '\\n'.join(lines).encode(), sha256).hexdigest()",
  "    return {'Authorization': f'HMAC {ACCESS_KEY}:{signature}', 'x-date': date, 'x-nonce': nonce,",
  "            'x-content-sha256': digest}",
  '',
];

const IN_PYTHON: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** JSON differs from Python's literals in three words. */
const pythonLiteral = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(
    /("(?:[^"\\]|\\.)*")|true|false|null/g,
    (word, text?: string) => text ?? IN_PYTHON[word] ?? word,
  );

function python(example: Example): string {
  const { method, body, isForm, credential, baseUrl } = example;
  const isSigned = credential === 'signature';
  const url = JSON.stringify(baseUrl + formatPath(example));
  const headers = isSigned
    ? `**signed(${JSON.stringify(method)}, url, body)`
    : credential === 'bearer'
      ? "'Authorization': f'Bearer {TOKEN}'"
      : '';
  const type = body === undefined ? '' : "'Content-Type': 'application/json'";
  const sent = [headers, type].filter(Boolean).join(', ');
  return [
    ...(isSigned
      ? [
          'import hmac',
          'from datetime import datetime, timezone',
          'from hashlib import sha256',
          'from urllib.parse import urlsplit',
          'from uuid import uuid4',
          '',
        ]
      : []),
    ...(body === undefined ? [] : ['import json']),
    'import requests',
    '',
    ...(isSigned ? SIGNED_IN_PYTHON : []),
    `url = ${url}`,
    ...(body === undefined ? (isSigned ? ["body = b''"] : []) : [`body = json.dumps(${pythonLiteral(body)}).encode()`]),
    `answer = requests.request(${[`'${method}'`, 'url', ...(sent ? [`headers={${sent}}`] : []), ...(body === undefined ? [] : ['data=body']), ...(isForm ? ["files={'files': open('data.csv', 'rb')}"] : [])].join(', ')})`,
    'answer.raise_for_status()',
  ].join('\n');
}

const LANGUAGES = { curl, TypeScript: typescript, Python: python };

/** The recorded request in each language. The choice is kept from one operation to the next. */
export function buildExamples(operation: Operation, baseUrl: string): HTMLElement {
  const example = makeExample(operation, baseUrl);
  const code = h('code', {});
  const buttons = Object.entries(LANGUAGES).map(([name, write]) => {
    const choose = () => {
      language = name;
      code.textContent = write(example);
      for (const each of buttons) each.setAttribute('aria-pressed', String(each === button));
    };
    const button = h('button', { type: 'button', onclick: choose }, name);
    return button;
  });
  const at = Object.keys(LANGUAGES).indexOf(language);
  buttons[at]?.click();
  const copy = h(
    'button',
    { type: 'button', class: 'copy', onclick: () => void navigator.clipboard.writeText(code.textContent ?? '') },
    'Copy',
  );
  return h(
    'section',
    { class: 'request', 'aria-label': 'Request' },
    h('div', { role: 'group', 'aria-label': 'Language' }, ...buttons, copy),
    h('pre', { tabindex: 0 }, code),
  );
}

let language = 'curl';
