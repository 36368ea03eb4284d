import { createDecoder } from '../text/decode.ts';

/** Names of the characters 160 to 255, in their order. */
const LATIN_1_NAMES =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'.split(
    ' ',
  );

const CHARACTERS_BY_NAME = new Map<string, string>([
  ...LATIN_1_NAMES.map((name, index) => [name, String.fromCharCode(160 + index)] as const),
  ...Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    euro: '€',
    ndash: '–',
    mdash: '—',
    lsquo: '‘',
    rsquo: '’',
    sbquo: '‚',
    ldquo: '“',
    rdquo: '”',
    bdquo: '„',
    bull: '•',
    hellip: '…',
    trade: '™',
    ensp: ' ',
    emsp: ' ',
    thinsp: ' ',
  }),
]);

const decode1252 = createDecoder('windows-1252');

/** Replaces HTML's character references, by number and by the names of Latin-1 and common signs. Others stay. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,7}));/gi, (reference, decimal, hex, name) => {
    if (name !== undefined) return CHARACTERS_BY_NAME.get(name) ?? reference;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    // As browsers do, since pages have them from Windows.
    if (code >= 0x80 && code < 0xa0) return decode1252(Uint8Array.of(code), 0, 1);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : '\ufffd';
  });
}
