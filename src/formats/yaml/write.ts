import { Document, Scalar, visit } from 'yaml';

/** Characters that YAML 1.1 takes for line ends, or does not take at all. */
const SPECIAL = /[^\t\n\P{Cc}]|[\u2028\u2029\ufeff\ufffe\uffff]/gu;

/** As JSON writes a character, and YAML between double quotes. */
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A text as it is, on a line of its own: in quotes it would be longer, and slow to read. Without special characters. */
export function literal(text: string): Scalar {
  const scalar = new Scalar(text);
  scalar.type = Scalar.BLOCK_LITERAL;
  return scalar;
}

/** JSON in which special characters are escaped. */
export const plainJson = (value: unknown): string => JSON.stringify(value).replaceAll(SPECIAL, escaped);

/** YAML for readers of 1.1 and 1.2: texts are in quotes, since `No`, `1:30` and `2024-01-01` are none in 1.1. */
export function writeYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(key, scalar) {
      if (key === 'key' || typeof scalar.value !== 'string' || scalar.type === Scalar.BLOCK_LITERAL) return;
      scalar.type = scalar.value.search(SPECIAL) < 0 ? Scalar.QUOTE_SINGLE : Scalar.QUOTE_DOUBLE;
    },
  });
  // Where there are any left they stand between double quotes.
  return document.toString({ lineWidth: 0 }).replaceAll(SPECIAL, escaped);
}
