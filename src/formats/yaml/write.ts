import { Document, Scalar, visit } from 'yaml';

/** Pattern of characters that YAML 1.1 takes for line ends, or does not accept at all. */
const SPECIAL_PATTERN = /[^\t\n\P{Cc}]|[\u2028\u2029\ufeff\ufffe\uffff]/gu;

/** Escapes a character as JSON does, and YAML between double quotes. */
const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Makes a literal block of a text without special characters: in quotes it would be longer, and slow to read. */
export function makeTextScalar(text: string): Scalar {
  const scalar = new Scalar(text);
  scalar.type = Scalar.BLOCK_LITERAL;
  return scalar;
}

/** Writes JSON in which special characters are escaped. */
export const formatPlainJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(SPECIAL_PATTERN, escapeCharacter);

/** Writes YAML for readers of 1.1 and 1.2: texts are in quotes, since `No`, `1:30` and `2024-01-01` are no texts in 1.1. */
export function writeYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(key, scalar) {
      if (key === 'key' || typeof scalar.value !== 'string' || scalar.type === Scalar.BLOCK_LITERAL) return;
      scalar.type = scalar.value.search(SPECIAL_PATTERN) < 0 ? Scalar.QUOTE_SINGLE : Scalar.QUOTE_DOUBLE;
    },
  });
  // Where there are any left they stand between double quotes.
  return document.toString({ lineWidth: 0 }).replaceAll(SPECIAL_PATTERN, escapeCharacter);
}
