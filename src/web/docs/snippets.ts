import { h } from '../dom.ts';
import type { Operation } from './reference.ts';

/** The example request of an operation, assembled from the API document: its method, path, parameters and body. */
interface Example {
  method: string;
  path: string;
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: unknown;
  /** True if the request sends files as a multipart form instead of JSON. */
  isForm: boolean;
  credential: 'signature' | 'bearer' | 'none';
  baseUrl: string;
}

function makeExample({ method, path, object }: Operation, baseUrl: string): Example {
  const { parameters = [], requestBody, security = [] } = object;
  const readParameters = (location: string) =>
    Object.fromEntries(
      parameters.flatMap(({ name, in: parameterLocation, required, example }) => {
        const isShown = parameterLocation === location && (example !== undefined || required);
        return isShown ? [[name, example ?? `{${name}}`]] : [];
      }),
    );
  const content = requestBody?.content ?? {};
  const [scheme] = security.flatMap((requirement) => Object.keys(requirement));
  return {
    method,
    path,
    params: readParameters('path'),
    query: readParameters('query'),
    body: content['application/json']?.example,
    isForm: content['multipart/form-data'] !== undefined && content['application/json'] === undefined,
    credential: scheme === undefined ? 'none' : scheme === 'signature' ? 'signature' : 'bearer',
    baseUrl,
  };
}

const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const formatPath = ({ path, params, query }: Example): string => {
  const queryString = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  ).toString();
  const filledPath = path.replaceAll(/\{(\w+)\}/g, (placeholder, name) =>
    name in params ? encodeURIComponent(String(params[name])) : placeholder,
  );
  return queryString ? `${filledPath}?${queryString}` : filledPath;
};

function formatCurl(example: Example): string {
  const { method, body, isForm, credential, baseUrl } = example;
  const url = quoteForShell(baseUrl + formatPath(example));
  const json = body === undefined ? undefined : quoteForShell(JSON.stringify(body));
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

function formatTypeScript({ method, path, params, query, body, isForm, credential, baseUrl }: Example): string {
  const credentialCode = {
    signature: 'withKey({ access_key, secret_key })',
    bearer: 'withToken(token)',
    none: undefined,
  }[credential];
  const input = [
    ...(Object.keys(params).length > 0 ? [`params: ${JSON.stringify(params)}`] : []),
    ...(Object.keys(query).length > 0 ? [`query: ${JSON.stringify(query)}`] : []),
    ...(body === undefined ? [] : [`body: ${JSON.stringify(body, null, 2)}`]),
    ...(isForm ? ['form'] : []),
  ];
  const names = ['createClient', ...(credentialCode ? [credentialCode.replace(/\(.*/, '')] : [])];
  return [
    `import { ${names.join(', ')} } from 'data-console-client';`,
    '',
    `const client = createClient({ baseUrl: '${baseUrl}'${credentialCode ? `, credential: ${credentialCode}` : ''} });`,
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

const PYTHON_WORDS: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** Formats a value as a Python literal: JSON differs from it in three words, `true`, `false` and `null`. */
const formatPythonLiteral = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(
    /("(?:[^"\\]|\\.)*")|true|false|null/g,
    (word, text?: string) => text ?? PYTHON_WORDS[word] ?? word,
  );

function formatPython(example: Example): string {
  const { method, body, isForm, credential, baseUrl } = example;
  const isSigned = credential === 'signature';
  const url = JSON.stringify(baseUrl + formatPath(example));
  const headers = isSigned
    ? `**signed(${JSON.stringify(method)}, url, body)`
    : credential === 'bearer'
      ? "'Authorization': f'Bearer {TOKEN}'"
      : '';
  const type = body === undefined ? '' : "'Content-Type': 'application/json'";
  const headerArguments = [headers, type].filter(Boolean).join(', ');
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
    ...(body === undefined
      ? isSigned
        ? ["body = b''"]
        : []
      : [`body = json.dumps(${formatPythonLiteral(body)}).encode()`]),
    `answer = requests.request(${[`'${method}'`, 'url', ...(headerArguments ? [`headers={${headerArguments}}`] : []), ...(body === undefined ? [] : ['data=body']), ...(isForm ? ["files={'files': open('data.csv', 'rb')}"] : [])].join(', ')})`,
    'answer.raise_for_status()',
  ].join('\n');
}

const FORMATTERS = { curl: formatCurl, TypeScript: formatTypeScript, Python: formatPython };

/** Builds the panel with the example request in each language. The chosen language stays chosen for the next operations. */
export function buildExamples(operation: Operation, baseUrl: string): HTMLElement {
  const example = makeExample(operation, baseUrl);
  const code = h('code', {});
  const buttons = Object.entries(FORMATTERS).map(([name, write]) => {
    const showLanguage = () => {
      language = name;
      code.textContent = write(example);
      for (const otherButton of buttons) otherButton.setAttribute('aria-pressed', String(otherButton === button));
    };
    const button = h('button', { type: 'button', onclick: showLanguage }, name);
    return button;
  });
  const at = Object.keys(FORMATTERS).indexOf(language);
  buttons[at]?.click();
  const copyButton = h(
    'button',
    { type: 'button', class: 'copy', onclick: () => void navigator.clipboard.writeText(code.textContent ?? '') },
    'Copy',
  );
  return h(
    'section',
    { class: 'request', 'aria-label': 'Request' },
    h('div', { role: 'group', 'aria-label': 'Language' }, ...buttons, copyButton),
    h('pre', { tabindex: 0 }, code),
  );
}

let language = 'curl';
