const ACCENTS = /[\u0300-\u036f]/g;

/** Punctuation that makes a difference: within numbers, a sign before one, and percent. */
const counts = (mark: string, before: string, after: string): boolean =>
  mark === '%' || (/\d/.test(after) && (/\d/.test(before) || (/[-−]/.test(mark) && !/\p{L}/u.test(before))));

/** A question as it is compared: without case, accents, punctuation, and with single spaces. Empty if nothing is left. */
export const questionKey = (question: string): string =>
  question
    .normalize('NFKD')
    .replaceAll(ACCENTS, '')
    .toLowerCase()
    .replaceAll(/\p{P}/gu, (mark, at: number, text: string) =>
      counts(mark, text.charAt(at - 1), text.charAt(at + mark.length)) ? mark : ' ',
    )
    .trim()
    .replaceAll(/\s+/gu, ' ')
    .normalize('NFC');
