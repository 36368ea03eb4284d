const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The same JWT in other texts, which a lenient reader of base64 takes for it. */
export function otherSpellings(token: string): string[] {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const last = ALPHABET.indexOf(signature.at(-1) as string);
  return [
    ` ${token}`,
    `${token}\n`,
    [header, payload, `${signature.slice(0, 5)} ${signature.slice(5)}`].join('.'),
    [header, `${payload}=`, signature].join('.'),
    [header, payload, `${signature}${'='.repeat(-signature.length & 3)}`].join('.'),
    // The bits of the last character that belong to no byte.
    [header, payload, signature.slice(0, -1) + ALPHABET[last ^ 1]].join('.'),
    ...(/[-_]/.test(signature) ? [[header, payload, toStandard(signature)].join('.')] : []),
  ];
}

const toStandard = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/');
