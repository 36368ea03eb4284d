import { describe, expect, it } from 'vitest';
import { AUTHORIZATION_TEXTS } from '../../src/texts/authorization/languages.ts';
import { LOCALES } from '../../src/texts/locales.ts';
import { MAIL_LINK_TEXTS } from '../../src/texts/mail-links/languages.ts';
import { MAIL_TEXTS } from '../../src/texts/mails/languages.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';

/** Texts that are spelled alike in several languages. */
const IDENTICAL_TEXTS = new Set(['E-mail', 'No', 'Filtros', 'Buscar', 'Todos', 'Otros', 'Mostrar más']);

type TextEntry = string | ((...values: never[]) => unknown);

/** Lists every text with its path, functions included. */
function listTexts(tree: object, path = ''): [path: string, text: TextEntry][] {
  return Object.entries(tree).flatMap(([name, value]: [string, TextEntry | object]): [string, TextEntry][] =>
    typeof value === 'object' ? listTexts(value, `${path}${name}.`) : [[`${path}${name}`, value]],
  );
}

/** Returns the variants of a text: a function of names and numbers is called with both. */
function renderText(text: TextEntry): string[] {
  if (typeof text === 'string') return [text];
  const renderTextWith = (values: unknown[]) => [text(...(values as never[]))].flat().map(String);
  const numbers = Array(text.length).fill(1234567);
  return [
    ...renderTextWith(Array(text.length).fill('Ω')),
    ...renderTextWith(numbers),
    ...renderTextWith(numbers.map(() => 1)),
  ];
}

describe.each([
  ['pages', PAGE_TEXTS],
  ['pages that mails link to', MAIL_LINK_TEXTS],
  ['the page of authorization', AUTHORIZATION_TEXTS],
  ['mails', MAIL_TEXTS],
])('the texts of %s', (_what, languages) => {
  const englishTexts = new Map(listTexts(languages.en));

  it.each(LOCALES)('are complete, with the same parameters as in English: %s', (locale) => {
    const listShapes = (texts: object) =>
      listTexts(texts).map(([path, text]) => [path, typeof text, Object(text).length]);
    const listParameterCounts = (texts: object) =>
      listShapes(texts).map(([path, type, length]) => (type === 'function' ? [path, type, length] : [path, type]));
    expect(listParameterCounts(languages[locale])).toEqual(listParameterCounts(languages.en));
    for (const [path, text] of listTexts(languages[locale])) {
      for (const words of renderText(text)) expect(words.trim(), path).not.toBe('');
    }
  });

  it.each(LOCALES.filter((locale) => locale !== 'en'))('have no English text: %s', (locale) => {
    for (const [path, text] of listTexts(languages[locale])) {
      const words = renderText(text).filter(
        (word) => /\p{L}{2}/u.test(word.replaceAll('Ω', '')) && !IDENTICAL_TEXTS.has(word),
      );
      const englishVariants = new Set(renderText(englishTexts.get(path) as TextEntry));
      for (const word of words) expect(englishVariants, path).not.toContain(word);
    }
  });

  it('contain every name that is passed to them, and format numbers by language', () => {
    for (const locale of LOCALES) {
      for (const [path, text] of listTexts(languages[locale])) {
        if (typeof text === 'string') continue;
        const renderEnglish = englishTexts.get(path) as (...values: never[]) => unknown;
        const names = Array.from({ length: text.length }, (_each, at) => `Ω${at}Ω`);
        const renderNames = (renderTranslation: typeof renderEnglish) =>
          names.filter((name) => [renderTranslation(...(names as never[]))].flat().join('').includes(name));
        expect(renderNames(text as typeof renderEnglish), `${locale} ${path}`).toEqual(renderNames(renderEnglish));
      }
    }
    expect(PAGE_TEXTS.en.moreRows(1)).toBe('Show more (1 row left)');
    expect(PAGE_TEXTS.en.moreRows(12345)).toBe('Show more (12,345 rows left)');
    expect(PAGE_TEXTS['pt-BR'].moreRows(1)).toBe('Mostrar mais (1 linha restante)');
    expect(PAGE_TEXTS['pt-BR'].moreRows(12345)).toBe('Mostrar mais (12.345 linhas restantes)');
    expect(PAGE_TEXTS.es.truncated(1)).toMatch(/^1 fila\. /);
    expect(PAGE_TEXTS.es.truncated(10000)).toMatch(/^10\.000 filas\. /);
    expect(PAGE_TEXTS.es.truncated(2000000)).toMatch(/^2\.000\.000 de filas\. /);
  });
});
