const BASE64URL_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Returns other spellings of a JWT that a lenient base64 decoder accepts as the same token. */
export function listOtherSpellings(token: string): string[] {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const last = BASE64URL_ALPHABET.indexOf(signature.at(-1) as string);
  return [
    ` ${token}`,
    `${token}\n`,
    [header, payload, `${signature.slice(0, 5)} ${signature.slice(5)}`].join('.'),
    [header, `${payload}=`, signature].join('.'),
    [header, payload, `${signature}${'='.repeat(-signature.length & 3)}`].join('.'),
    // The bits of the last character that belong to no byte.
    [header, payload, signature.slice(0, -1) + BASE64URL_ALPHABET[last ^ 1]].join('.'),
    ...(/[-_]/.test(signature) ? [[header, payload, toStandardBase64(signature)].join('.')] : []),
  ];
}

const toStandardBase64 = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/');
