import { describe, expect, it } from 'vitest';
import { LOCALES } from '../../src/texts/locales.ts';
import { MAIL_LINK_TEXTS } from '../../src/texts/mail-links/languages.ts';
import { MAIL_TEXTS } from '../../src/texts/mails/languages.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';

/** What is written alike in several languages. */
const ALIKE = new Set(['E-mail', 'No', 'Filtros', 'Buscar', 'Todos', 'Otros', 'Mostrar más']);

type Text = string | ((...values: never[]) => unknown);

/** Every text with its path, functions included. */
function textsIn(tree: object, path = ''): [path: string, text: Text][] {
  return Object.entries(tree).flatMap(([name, value]: [string, Text | object]): [string, Text][] =>
    typeof value === 'object' ? textsIn(value, `${path}${name}.`) : [[`${path}${name}`, value]],
  );
}

/** What a text says: a function of names and numbers is asked with both. */
function said(text: Text): string[] {
  if (typeof text === 'string') return [text];
  const ask = (values: unknown[]) => [text(...(values as never[]))].flat().map(String);
  const numbers = Array(text.length).fill(1234567);
  return [...ask(Array(text.length).fill('Ω')), ...ask(numbers), ...ask(numbers.map(() => 1))];
}

describe.each([
  ['pages', PAGE_TEXTS],
  ['pages that mails link to', MAIL_LINK_TEXTS],
  ['mails', MAIL_TEXTS],
])('the texts of %s', (_what, languages) => {
  const english = new Map(textsIn(languages.en));

  it.each(LOCALES)('are complete, with the same parameters as in English: %s', (locale) => {
    const shape = (texts: object) => textsIn(texts).map(([path, text]) => [path, typeof text, Object(text).length]);
    const takes = (texts: object) =>
      shape(texts).map(([path, type, length]) => (type === 'function' ? [path, type, length] : [path, type]));
    expect(takes(languages[locale])).toEqual(takes(languages.en));
    for (const [path, text] of textsIn(languages[locale])) {
      for (const words of said(text)) expect(words.trim(), path).not.toBe('');
    }
  });

  it.each(LOCALES.filter((locale) => locale !== 'en'))('have no English text: %s', (locale) => {
    for (const [path, text] of textsIn(languages[locale])) {
      const words = said(text).filter((each) => /\p{L}{2}/u.test(each.replaceAll('Ω', '')) && !ALIKE.has(each));
      const inEnglish = new Set(said(english.get(path) as Text));
      for (const each of words) expect(inEnglish, path).not.toContain(each);
    }
  });

  it('contain every name they are given, and format numbers by language', () => {
    for (const locale of LOCALES) {
      for (const [path, text] of textsIn(languages[locale])) {
        if (typeof text === 'string') continue;
        const bare = english.get(path) as (...values: never[]) => unknown;
        const names = Array.from({ length: text.length }, (_each, at) => `Ω${at}Ω`);
        const shown = (made: typeof bare) =>
          names.filter((name) => [made(...(names as never[]))].flat().join('').includes(name));
        expect(shown(text as typeof bare), `${locale} ${path}`).toEqual(shown(bare));
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
